// What the clients do beyond one call: loops that call tools by themselves, and answers of a given shape.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import * as z from "zod";
import { anthropic, google, openai } from "./clients.mjs";
import { Gateway, HERE, Vendors, WIRES, cases } from "./vendors.mjs";

const CASES = cases(4);
/** What the tool says; a vendor has to hear it. */
const RESULT = "the tool said 42";
const ANYTHING = { type: "object", properties: {}, additionalProperties: true };
const Weather = z.object({ city: z.string(), degrees: z.number() });
const WEATHER = { city: "Paris", degrees: 21 };

let vendors, gateway;
before(async () => {
  vendors = await new Vendors().open();
  gateway = await new Gateway().open(vendors);
});
after(async () => {
  await gateway.close();
  vendors.close();
});

/** Loops: each gives what the model said at last, and calls `tool` with its arguments. */
const LOOPS = {
  async chat(model, name, tool, isStream) {
    const described = { name, description: "a tool", parameters: ANYTHING, parse: JSON.parse, function: tool };
    const asked = { model, messages: [{ role: "user", content: "hi" }], tools: [{ type: "function", function: described }] };
    return await openai(gateway.url).chat.completions.runTools({ ...asked, stream: isStream }).finalContent();
  },
  async messages(model, name, tool, isStream) {
    const described = betaTool({ name, description: "a tool", inputSchema: ANYTHING, run: tool });
    const asked = { model, max_tokens: 900, messages: [{ role: "user", content: "hi" }], tools: [described] };
    const runner = anthropic(gateway.url).beta.messages.toolRunner({ ...asked, stream: isStream });
    const last = await runner.runUntilDone();
    return last.content.filter((block) => block.type === "text").map((block) => block.text).join("");
  },
  async gemini(model, name, tool) {
    const callable = {
      tool: async () => ({ functionDeclarations: [{ name, description: "a tool", parametersJsonSchema: ANYTHING }] }),
      callTool: async (calls) => {
        const said = await Promise.all(calls.map((call) => tool(call.args)));
        return calls.map((call, at) => ({ functionResponse: { id: call.id, name: call.name, response: { output: said[at] } } }));
      },
    };
    const reply = await google(gateway.url).models.generateContent({ model, contents: "hi", config: { tools: [callable] } });
    return reply.text;
  },
};

for (const [client, loop] of Object.entries(LOOPS)) {
  describe(`tool loop of ${client}`, () => {
    for (const wire of HERE ? Object.keys(WIRES) : []) {
      for (const isStream of client === "gemini" ? [false] : [false, true]) {
        const of = (calls) => CASES.find((one) => one.wire === wire && one.isStream === isStream && one.calls.length === calls && (calls > 0 || one.text));
        const [first, second] = [of(1), of(0)];
        if (!first || !second) continue;
        test(`${wire}${isStream ? ", streamed" : ""}`, async () => {
          vendors.heard.length = 0;
          vendors.say(first.body);
          vendors.say(second.body);
          const heard = [];
          const tool = (args) => {
            heard.push(args);
            return RESULT;
          };
          const text = await loop(`${wire}/m`, first.calls[0][0], tool, isStream);
          assert.deepEqual(heard, [first.calls[0][1]]);
          assert.equal(text.trim(), second.text.trim());
          assert.equal(vendors.heard.length, 2);
          assert.ok(!vendors.heard[0].body.includes(RESULT));
          assert.ok(vendors.heard[1].body.includes(RESULT), vendors.heard[1].body);
        });
      }
    }
  });
}

test("every wire is in a loop", { skip: !HERE }, () => {
  for (const wire of Object.keys(WIRES)) assert.ok(CASES.some((one) => one.wire === wire && !one.isStream && one.calls.length === 1), wire);
});

/** Answers of a given shape, as each client reads them. */
const SHAPED = {
  async chat(model) {
    const asked = { model, messages: [{ role: "user", content: "hi" }], response_format: zodResponseFormat(Weather, "weather") };
    return (await openai(gateway.url).chat.completions.parse(asked)).choices[0].message.parsed;
  },
  async responses(model) {
    return (await openai(gateway.url).responses.parse({ model, input: "hi", text: { format: zodTextFormat(Weather, "weather") } })).output_parsed;
  },
  async messages(model) {
    const asked = { model, max_tokens: 900, messages: [{ role: "user", content: "hi" }], output_config: { format: zodOutputFormat(Weather) } };
    return (await anthropic(gateway.url).messages.parse(asked)).parsed_output;
  },
  async gemini(model) {
    const config = { responseMimeType: "application/json", responseJsonSchema: z.toJSONSchema(Weather) };
    return Weather.parse(JSON.parse((await google(gateway.url).models.generateContent({ model, contents: "hi", config })).text));
  },
};

for (const [client, shaped] of Object.entries(SHAPED)) {
  describe(`shape by ${client}`, () => {
    for (const wire of HERE ? Object.keys(WIRES) : []) {
      test(wire, async () => {
        const one = CASES.find((one) => one.wire === wire && !one.isStream && one.calls.length === 0 && one.body.includes(JSON.stringify(one.text)));
        // The recorded bytes, with other words in the place of the text.
        vendors.say(one.body.replace(JSON.stringify(one.text), () => JSON.stringify(JSON.stringify(WEATHER))));
        assert.deepEqual(await shaped(`${wire}/m`), WEATHER);
        // The shape was asked for in the vendor's words.
        assert.ok(vendors.heard.at(-1).body.includes("degrees"), vendors.heard.at(-1).body);
      });
    }
  });
}
