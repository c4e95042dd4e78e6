// The AI SDK with compression: whole, streamed, tools, errors, aborts.

import assert from "node:assert/strict";
import { test } from "node:test";

import { createOpenAI } from "@ai-sdk/openai";
import { APICallError, generateText, stepCountIs, streamText, tool, wrapLanguageModel } from "ai";
import { Compressor } from "omniroute-native";
import { compressionMiddleware } from "omniroute-native/ai-sdk";
import { z } from "zod";

import { model as example } from "../../typed/ai-sdk.mjs";
import { source } from "../given.mjs";
import { ANSWER, EVENTS, arrival, calling, provider, shorter } from "./scripted.mjs";

function bare(end) {
  return createOpenAI({ baseURL: end.url, apiKey: "k" }).chat("gpt-5");
}

function wrapped(end, options) {
  return wrapLanguageModel({ model: bare(end), middleware: compressionMiddleware(options) });
}

/** What a request says that tools printed. */
function printed({ body }) {
  return body.messages.filter((message) => message.role === "tool").map((message) => message.content);
}

/** An agent that reads the same file twice, as the program keeps it. */
function history(output = { type: "text", value: source() }) {
  const messages = [{ role: "user", content: [{ type: "text", text: "read a.rs, twice" }] }];
  for (const toolCallId of ["a", "b"]) {
    const call = { type: "tool-call", toolCallId, toolName: "read", input: { path: "a.rs" } };
    messages.push({ role: "assistant", content: [{ type: "text", text: "so:" }, call] });
    messages.push({ role: "tool", content: [{ type: "tool-result", toolCallId, toolName: "read", output }] });
  }
  return messages;
}

test("whole", async (context) => {
  const end = await provider(context, ANSWER);
  const receipts = [];
  const messages = history();
  const model = wrapped(end, { onReceipt: (receipt) => receipts.push(receipt) });
  const done = await generateText({ model, system: "be brief", messages });
  assert.equal(done.text, "done");
  assert(shorter(end.seen[0].body, source()));
  assert.deepEqual(messages, history());
  assert.deepEqual(done.providerMetadata.omniroute, receipts[0].data);
  assert.equal(receipts[0].data.counter.name.includes("o200k"), true);
  // Without the middleware the check says no.
  await generateText({ model: bare(end), system: "be brief", messages });
  assert(!shorter(end.seen[1].body, source()));
  // Nothing else differs.
  const others = ({ body }) => body.messages.map((message, n) => (n === 5 ? { ...message, content: "" } : message));
  assert.deepEqual(others(end.seen[0]), others(end.seen[1]));
});

test("as the README says", async (context) => {
  const end = await provider(context, ANSWER);
  const { providerMetadata } = await generateText({ model: example(end.url), messages: history() });
  assert(shorter(end.seen[0].body, source()) && providerMetadata.omniroute.applied);
});

test("streamed", async (context) => {
  const end = await provider(context, EVENTS);
  const done = streamText({ model: wrapped(end), messages: history() });
  let text = "";
  for await (const piece of done.textStream) text += piece;
  assert.equal(text, "done");
  assert(shorter(end.seen[0].body, source()));
  assert.equal((await done.providerMetadata).omniroute.applied, true);
});

test("results of every kind", async (context) => {
  const end = await provider(context, ANSWER);
  const rows = Array.from({ length: 60 }, (_, id) => ({ id, name: `name ${id}`, path: `src/module_${id}/index.ts` }));
  const text = JSON.stringify(rows);
  for (const [output, sent] of [
    [{ type: "error-text", value: source() }, source()],
    [{ type: "json", value: rows }, text],
    [{ type: "error-json", value: rows }, text],
  ]) {
    await generateText({ model: wrapped(end), messages: history(output) });
    assert(printed(end.seen.at(-1))[1].length < sent.length / 2, output.type);
  }
  const image = { type: "image-data", data: "AAAA", mediaType: "image/png" };
  const parts = { type: "content", value: [{ type: "text", text: source() }, image] };
  await generateText({ model: wrapped(end), messages: history(parts) });
  const [first, second] = printed(end.seen.at(-1)).map((content) => JSON.parse(content));
  assert.deepEqual(first, parts.value);
  assert(second[0].text.length < source().length / 2);
  assert.deepEqual(second[1], parts.value[1]);
});

test("an agent with tools; what was sent is sent again the same way", async (context) => {
  const [first, second] = ["a", "b"].map((id) => calling(id, "read", { path: "a.rs" }));
  const end = await provider(context, first, second, ANSWER);
  const read = tool({ inputSchema: z.object({ path: z.string() }), execute: async () => source() });
  const model = wrapped(end, { compressor: new Compressor(), session: "s" });
  const done = await generateText({ model, prompt: "read a.rs, twice", tools: { read }, stopWhen: stepCountIs(5) });
  assert.equal(done.text, "done");
  const sent = end.seen.map((request) => request.body.messages);
  assert.equal(sent.length, 3);
  for (const [n, messages] of sent.slice(1).entries()) assert.deepEqual(messages.slice(0, sent[n].length), sent[n]);
  assert(shorter(end.seen[2].body, source()));
  const kept = done.response.messages.filter((message) => message.role === "tool");
  assert(kept.every((message) => message.content[0].output.value === source()));
  assert.equal(end.seen[0].body.tools[0].function.name, "read");
});

test("errors are those of the SDK", async (context) => {
  const end = await provider(context, 429);
  const call = generateText({ model: wrapped(end), messages: history(), maxRetries: 0 });
  await assert.rejects(call, (error) => APICallError.isInstance(error) && error.statusCode === 429 && error.isRetryable);
});

test("an abort reaches the provider", async (context) => {
  const end = await provider(context, null);
  const control = new AbortController();
  const call = generateText({ model: wrapped(end), messages: history(), abortSignal: control.signal });
  const { gone } = await arrival(end);
  control.abort();
  await assert.rejects(call, { name: "AbortError" });
  await gone;
  const never = generateText({ model: wrapped(end), messages: history(), abortSignal: AbortSignal.abort() });
  await assert.rejects(never, { name: "AbortError" });
  assert.equal(end.seen.length, 1);
});
