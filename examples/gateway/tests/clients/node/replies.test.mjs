// Official clients over the gateway over recorded vendors: every client's wire with every vendor's, whole and streamed.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ASK, anthropic, openai } from "./clients.mjs";
import { Gateway, HERE, Vendors, WIRES, cases } from "./vendors.mjs";

const CASES = cases(2);
let vendors, gateway;
before(async () => {
  vendors = await new Vendors().open();
  gateway = await new Gateway().open(vendors);
});
after(async () => {
  await gateway.close();
  vendors.close();
});

test("there is a recording of each wire", { skip: !HERE }, () => {
  assert.deepEqual(new Set(CASES.map((one) => one.wire)), new Set(Object.keys(WIRES)));
  assert.ok(CASES.length >= 20, String(CASES.length));
});

for (const [name, ask] of Object.entries(ASK)) {
  describe(name, () => {
    for (const one of CASES) {
      test(`${one.wire}: ${one.name}`, async () => {
        vendors.say(one.body);
        const tools = [...new Set(one.calls.map(([tool]) => tool))];
        const [text, calls] = await ask(gateway.url, `${one.wire}/m`, tools.length > 0 ? tools : ["some_tool"], one.isStream);
        assert.equal(text.trim(), one.text.trim());
        assert.deepEqual(calls, one.calls);
        const { headers } = vendors.heard.at(-1);
        assert.ok(!Object.keys(headers).some((header) => header.startsWith("x-stainless")), JSON.stringify(headers));
        assert.ok(!["any", "Bearer any"].some((key) => Object.values(headers).includes(key)), JSON.stringify(headers));
      });
    }
  });
}

test("models and counts", async () => {
  const listed = [];
  for await (const model of openai(gateway.url).models.list()) listed.push(model.id);
  assert.ok(listed.includes("auto"), listed.join());
  const messages = [{ role: "user", content: "one two three" }];
  const counted = await anthropic(gateway.url).messages.countTokens({ model: "openai-chat/m", messages });
  assert.ok(counted.input_tokens > 0);
});
