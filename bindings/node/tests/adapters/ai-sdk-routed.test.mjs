// The AI SDK over a router of the process: whole, streamed, a loop with a tool, aborts.

import assert from "node:assert/strict";
import { test } from "node:test";

import { createOpenAI } from "@ai-sdk/openai";
import { generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

import { calls, router, says, silent, streams } from "./routed.mjs";

function model(made, wire = "chat") {
  const openai = createOpenAI({ baseURL: "http://omniroute.invalid/v1", apiKey: "in-process", fetch: made.fetch });
  return openai[wire]("all");
}

for (const wire of ["chat", "responses"]) {
  test(`${wire}: whole and streamed`, async () => {
    const { router: made } = router(says("hello back"), streams("hello back"));
    const { text } = await generateText({ model: model(made, wire), prompt: "hello", maxRetries: 0 });
    assert.equal(text, "hello back");
    const { textStream } = streamText({ model: model(made, wire), prompt: "hello", maxRetries: 0 });
    let all = "";
    for await (const more of textStream) all += more;
    assert.equal(all, "helloback");
  });
}

test("a loop with a tool", async () => {
  const { router: made } = router(calls(), says("done"));
  const asked = [];
  const read = tool({
    description: "reads",
    inputSchema: z.object({ path: z.string() }),
    execute: async ({ path }) => (asked.push(path), "text of a.rs"),
  });
  const options = { tools: { read }, stopWhen: stepCountIs(3), maxRetries: 0 };
  const { text } = await generateText({ model: model(made), prompt: "read a.rs", ...options });
  assert.deepEqual([text, asked], ["done", ["a.rs"]]);
});

test("an abort reaches the vendor", async () => {
  const { router: made, asked, gone } = silent();
  const control = new AbortController();
  const call = generateText({ model: model(made), prompt: "x", maxRetries: 0, abortSignal: control.signal });
  await asked;
  control.abort();
  await assert.rejects(call, { name: "AbortError" });
  assert.equal(gone(), 1);
});
