// Errors, as each client shows them: its own classes, the request's name, when to come again.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { ApiError } from "@google/genai";
import OpenAI from "openai";
import { anthropic, google, openai } from "./clients.mjs";
import { Gateway, Vendors } from "./vendors.mjs";

const KEY = `or_${"k".repeat(43)}`;
const KEYS = `[[gateway.keys]]\nname = "a"\nhash = "sha256:${createHash("sha256").update(KEY).digest("hex")}"\nscopes = ["chat"]\n`;
const NO = JSON.stringify({ error: { message: "the vendor says no", type: "x", code: "y" } });

let vendors, gateway;
before(async () => {
  vendors = await new Vendors().open();
  gateway = await new Gateway().open(vendors, KEYS);
});
after(async () => {
  await gateway.close();
  vendors.close();
});

const ASK = {
  chat: (key, model) => openai(gateway.url, key).chat.completions.create({ model, messages: [{ role: "user", content: "x" }] }),
  responses: (key, model) => openai(gateway.url, key).responses.create({ model, input: "x" }),
  messages: (key, model) => anthropic(gateway.url, key).messages.create({ model, max_tokens: 9, messages: [{ role: "user", content: "x" }] }),
  gemini: (key, model) => google(gateway.url, key).models.generateContent({ model, contents: "x" }),
};

async function raised(call) {
  return await call.then(
    () => assert.fail("an error was expected"),
    (error) => error,
  );
}

function isOf(client, error, name, status) {
  assert.equal(error.status, status, error.message);
  if (client === "gemini") return assert.ok(error instanceof ApiError, error);
  const sdk = client === "messages" ? Anthropic : OpenAI;
  assert.ok(error instanceof sdk[name], `${error.constructor.name} instead of ${name}`);
  assert.match(error.requestID, /^req_/);
}

for (const [client, ask] of Object.entries(ASK)) {
  describe(client, () => {
    test("a wrong key", async () => {
      const error = await raised(ask(`or_${"x".repeat(43)}`, "openai-chat/m"));
      isOf(client, error, "AuthenticationError", 401);
      if (client === "chat") assert.equal(error.code, "invalid_api_key");
      assert.ok(!JSON.stringify(error).includes("xxxx") && !error.message.includes("xxxx"));
    });

    test("a model that nobody has", async () => {
      const error = await raised(ask(KEY, "nobody/at-all"));
      isOf(client, error, "NotFoundError", 404);
      if (client === "chat") assert.deepEqual([error.code, error.param], ["unknown_model", "model"]);
    });

    test("a vendor that finds the request wrong", async () => {
      vendors.say(NO, 400);
      const error = await raised(ask(KEY, "openai-chat/wrong"));
      isOf(client, error, "BadRequestError", 400);
      assert.ok(error.message.includes("the vendor says no"), error.message);
    });
  });
}

describe("a vendor that wants to rest", () => {
  for (const [client, ask] of Object.entries(ASK)) {
    test(client, async () => {
      const kept = gateway;
      gateway = await new Gateway().open(vendors, KEYS);
      try {
        vendors.say(NO, 429, { "retry-after": "7" });
        const error = await raised(ask(KEY, "openai-chat/m"));
        isOf(client, error, "RateLimitError", 429);
        // This client shows no headers.
        if (client !== "gemini") assert.match(error.headers.get("retry-after"), /^[67]$/);
      } finally {
        await gateway.close();
        gateway = kept;
        vendors.next.length = 0;
      }
    });
  }
});
