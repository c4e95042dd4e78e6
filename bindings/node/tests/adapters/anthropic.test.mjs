// The Anthropic SDK over a router of the process: whole, streamed, a tool, errors, aborts.

import assert from "node:assert/strict";
import { test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";

import { routed } from "../../typed/anthropic.mjs";
import { busy, calls, router, says, silent, streams } from "./routed.mjs";

const ASK = { model: "all", max_tokens: 50, messages: [{ role: "user", content: "hello" }] };

test("whole", async () => {
  const { router: made, script } = router(says("hello back"));
  const message = await routed(made).messages.create(ASK);
  assert.deepEqual([message.content[0].text, message.stop_reason], ["hello back", "end_turn"]);
  assert.equal(script.requests[0].url, "https://vendor0.example/v1/chat/completions");
});

test("streamed", async () => {
  const { router: made } = router(streams("hello back"));
  const stream = routed(made).messages.stream(ASK);
  let text = "";
  stream.on("text", (more) => (text += more));
  const message = await stream.finalMessage();
  assert.deepEqual([text, message.content[0].text], ["helloback", "helloback"]);
});

test("a loop with a tool", async () => {
  const { router: made, script } = router(calls(), says("done"));
  const client = routed(made);
  const messages = [...ASK.messages];
  const tools = [{ name: "read", input_schema: { type: "object", properties: {} } }];
  let message;
  for (;;) {
    message = await client.messages.create({ ...ASK, messages, tools });
    messages.push({ role: "assistant", content: message.content });
    const uses = message.content.filter(({ type }) => type === "tool_use");
    if (uses.length === 0) break;
    const content = uses.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "text of a.rs" }));
    messages.push({ role: "user", content });
  }
  assert.equal(message.content[0].text, "done");
  const sent = JSON.parse(Buffer.from(script.requests[1].body));
  assert.deepEqual(sent.messages.at(-1), { role: "tool", tool_call_id: "call_1", content: "text of a.rs" });
});

test("errors are those of the SDK", async () => {
  const { router: made } = router(busy);
  await assert.rejects(routed(made).messages.create(ASK), Anthropic.RateLimitError);
});

test("an abort reaches the vendor", async () => {
  const { router: made, asked, gone } = silent();
  const control = new AbortController();
  const call = routed(made).messages.create(ASK, { signal: control.signal });
  await asked;
  control.abort();
  await assert.rejects(call, Anthropic.APIUserAbortError);
  assert.equal(gone(), 1);
});
