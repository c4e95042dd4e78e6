// The OpenAI SDK over a router of the process: whole, streamed, tools, responses, models, errors, aborts.

import assert from "node:assert/strict";
import { test } from "node:test";

import { receiptOf } from "omniroute-native/openai";
import OpenAI from "openai";

import { routed } from "../../typed/openai-routed.mjs";
import { busy, calls, router, says, silent, streams } from "./routed.mjs";

const MESSAGES = [{ role: "user", content: "hello" }];

test("whole", async () => {
  const { router: made, script } = router(says("hello back"));
  const call = routed(made).chat.completions.create({ model: "all", messages: MESSAGES });
  const { data, response } = await call.withResponse();
  assert.equal(data.choices[0].message.content, "hello back");
  assert.equal(receiptOf(response).provider, "vendor0");
  assert.match(response.headers.get("x-omniroute-decision"), /provider=vendor0; model=m; attempts=1/);
  assert.equal(script.requests[0].headers.get("authorization"), "Bearer key-number-0"); // not the client's
});

test("streamed", async () => {
  const { router: made } = router(streams("hello back"));
  const call = routed(made).chat.completions.create({ model: "all", messages: MESSAGES, stream: true });
  const { data, response } = await call.withResponse();
  let text = "";
  for await (const piece of data) text += piece.choices[0]?.delta.content ?? "";
  assert.equal(text, "helloback");
  assert(receiptOf(response).data.finished);
});

test("a loop with a tool", async () => {
  const { router: made, script } = router(calls(), says("done"));
  const client = routed(made);
  const messages = [...MESSAGES];
  const tools = [{ type: "function", function: { name: "read", parameters: { type: "object", properties: {} } } }];
  let said;
  for (;;) {
    said = (await client.chat.completions.create({ model: "all", messages, tools })).choices[0].message;
    messages.push(said);
    if (said.tool_calls === undefined) break;
    for (const call of said.tool_calls) messages.push({ role: "tool", tool_call_id: call.id, content: "text of a.rs" });
  }
  assert.equal(said.content, "done");
  const sent = JSON.parse(Buffer.from(script.requests[1].body));
  assert.deepEqual(sent.messages.at(-1), { role: "tool", tool_call_id: "call_1", content: "text of a.rs" });
});

test("responses, whole and streamed", async () => {
  const { router: made } = router(says("hello back"), streams("hello back"));
  const client = routed(made);
  const whole = await client.responses.create({ model: "all", input: "hello" });
  assert.equal(whole.output_text, "hello back");
  let text = "";
  for await (const event of await client.responses.create({ model: "all", input: "hello", stream: true })) {
    if (event.type === "response.output_text.delta") text += event.delta;
  }
  assert.equal(text, "helloback");
});

test("models, and what is not served", async () => {
  const { router: made, script } = router();
  const client = routed(made);
  const names = [];
  for await (const { id } of client.models.list()) names.push(id);
  assert(names.includes("all"));
  await assert.rejects(client.embeddings.create({ model: "m", input: "x" }), OpenAI.NotFoundError);
  assert.equal(script.requests.length, 0);
});

test("errors are those of the SDK", async () => {
  const { router: made } = router(busy);
  const client = routed(made);
  await assert.rejects(client.chat.completions.create({ model: "all", messages: MESSAGES }), (error) => {
    return error instanceof OpenAI.RateLimitError && error.headers.get("retry-after") !== "0";
  });
  const call = client.chat.completions.create({ model: "no/such", messages: MESSAGES });
  await assert.rejects(call, OpenAI.NotFoundError);
});

test("an abort reaches the vendor", async () => {
  const { router: made, asked, gone } = silent();
  const control = new AbortController();
  const options = { signal: control.signal };
  const call = routed(made).chat.completions.create({ model: "all", messages: MESSAGES }, options);
  await asked;
  control.abort();
  await assert.rejects(call, OpenAI.APIUserAbortError);
  assert.equal(gone(), 1);
});
