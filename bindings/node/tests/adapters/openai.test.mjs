// The OpenAI SDK with compression: whole, streamed, other paths, errors, aborts.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Compressor } from "omniroute-native";
import { compressFetch, receiptOf } from "omniroute-native/openai";
import OpenAI from "openai";

import { client as example } from "../../typed/openai.mjs";
import { chat, source } from "../given.mjs";
import { ANSWER, EVENTS, arrival, provider, shorter } from "./scripted.mjs";

function client(end, options = {}, more = {}) {
  return new OpenAI({ baseURL: end.url, apiKey: "k", fetch: compressFetch(options), ...more });
}

test("whole", async (context) => {
  const end = await provider(context, ANSWER);
  const receipts = [];
  const openai = client(end, { onReceipt: (receipt) => receipts.push(receipt) });
  const messages = chat();
  const call = openai.chat.completions.create({ model: "gpt-5", messages });
  const { data, response } = await call.withResponse();
  assert.equal(data.choices[0].message.content, "done");
  assert(shorter(end.seen[0].body, source()));
  assert.equal(end.seen[0].headers.authorization, "Bearer k");
  assert.deepEqual(messages, chat());
  assert(receipts[0].applied && receiptOf(response) === receipts[0]);
  // Without the wrapper the check says no.
  await new OpenAI({ baseURL: end.url, apiKey: "k" }).chat.completions.create({ model: "gpt-5", messages });
  assert(!shorter(end.seen[1].body, source()));
});

test("as the README says", async (context) => {
  const end = await provider(context, ANSWER);
  await example(end.url).chat.completions.create({ model: "gpt-5", messages: chat() });
  assert(shorter(end.seen[0].body, source()));
});

test("streamed", async (context) => {
  const end = await provider(context, EVENTS);
  const stream = await client(end).chat.completions.create({ model: "gpt-5", messages: chat(), stream: true });
  let text = "";
  for await (const piece of stream) text += piece.choices[0].delta.content;
  assert.equal(text, "done");
  assert(shorter(end.seen[0].body, source()));
});

test("tools of the request are sent as they are", async (context) => {
  const end = await provider(context, ANSWER);
  const tools = [{ type: "function", function: { name: "read", parameters: { type: "object", properties: {} } } }];
  await client(end).chat.completions.create({ model: "gpt-5", messages: chat(), tools });
  assert(shorter(end.seen[0].body, source()));
  assert.deepEqual(end.seen[0].body.tools, tools);
});

test("responses, and paths that are no chat", async (context) => {
  const end = await provider(context, { id: "r", object: "response", output: [], data: [], model: "m" });
  const openai = client(end);
  const input = ["a", "b"].flatMap((id) => [
    { type: "function_call", call_id: id, name: "read", arguments: '{"path": "a.rs"}' },
    { type: "function_call_output", call_id: id, output: source() },
  ]);
  await openai.responses.create({ model: "gpt-5", input });
  const outputs = end.seen[0].body.input.filter((item) => "output" in item).map((item) => item.output);
  assert(outputs[0] === source() && outputs[1].length < source().length / 2);
  const vectors = openai.embeddings.create({ model: "m", input: "text", encoding_format: "float" });
  const { response } = await vectors.withResponse();
  assert.equal(end.seen[1].body.input, "text");
  assert.equal(receiptOf(response), undefined);
});

test("errors are those of the SDK", async (context) => {
  const end = await provider(context, 429);
  const call = client(end, {}, { maxRetries: 0 }).chat.completions.create({ model: "gpt-5", messages: chat() });
  await assert.rejects(call, OpenAI.RateLimitError);
});

test("a session costs what is new, and what was sent is sent again the same way", async (context) => {
  const end = await provider(context, ANSWER);
  const receipts = [];
  const onReceipt = (receipt) => receipts.push(receipt);
  const openai = client(end, { compressor: new Compressor(), session: "s", onReceipt });
  const messages = chat();
  await openai.chat.completions.create({ model: "gpt-5", messages });
  messages.push({ role: "assistant", content: "done" }, { role: "user", content: "again" });
  await openai.chat.completions.create({ model: "gpt-5", messages });
  const [first, second] = end.seen.map((request) => request.body.messages);
  assert.deepEqual(second.slice(0, first.length), first);
  assert(receipts[0].data.engine_bytes > receipts[1].data.engine_bytes);
});

test("an abort reaches the provider", async (context) => {
  const end = await provider(context, null);
  const control = new AbortController();
  const call = client(end).chat.completions.create({ model: "gpt-5", messages: chat() }, { signal: control.signal });
  const { gone } = await arrival(end);
  control.abort();
  await assert.rejects(call, OpenAI.APIUserAbortError);
  await gone;
});

test("every form of a request of fetch", async (context) => {
  const end = await provider(context, ANSWER);
  const send = compressFetch();
  const url = `${end.url}/chat/completions`;
  const body = JSON.stringify({ model: "gpt-5", messages: chat() });
  const length = { "content-length": String(Buffer.byteLength(body)) };
  const forms = [
    [url, { method: "POST", body }],
    [new URL(url), { method: "post", body: Buffer.from(body), headers: new Headers({ "x-own": "1" }) }],
    [new Request(url, { method: "POST", body, headers: { "x-own": "1" } })],
    [new Request(url, { method: "POST", body: "{}" }), { body }],
    [url, { method: "POST", body, headers: { ...length, "x-own": "1" } }],
  ];
  for (const [input, init] of forms) {
    assert.equal((await send(input, init)).status, 200);
    assert(shorter(end.seen.at(-1).body, source()));
  }
  assert.deepEqual(end.seen.map((request) => request.headers["x-own"]), [undefined, "1", "1", undefined, "1"]);
  for (const [input, init] of [
    [url, { method: "POST", body, headers: { "content-encoding": "custom" } }],
    [`${end.url}/other`, { method: "POST", body }],
    [url, { method: "POST", body: new Blob([body]) }],
  ]) {
    const response = await send(input, init);
    assert(!shorter(end.seen.at(-1).body, source()) && receiptOf(response) === undefined);
  }
});
