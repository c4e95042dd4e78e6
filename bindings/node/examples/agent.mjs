// An agent with three tools mends a program: it runs the tests, reads, writes and runs them again. Its models are played,
// so no key is needed; the tools are real. One vendor breaks down in the middle, and the session goes on with the other.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Router, Unavailable } from "omniroute-native";

const parameters = (...names) => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
});
const TOOLS = Object.entries({ run: ["command"], read: ["path"], write: ["path", "text"] }).map(([name, names]) => {
  return { type: "function", function: { name, parameters: parameters(...names) } };
});
const TESTS = "node --test --test-reporter=tap shop.test.mjs";
// What a model would decide: the next call, by the number of results it has seen.
const PLAN = [
  ["run", { command: TESTS }],
  ["read", { path: "shop.mjs" }],
  ["write", { path: "shop.mjs", text: "export const price = (amount) => amount * 3;\n" }],
  ["run", { command: TESTS }],
];

/** A vendor: an object with an id and a method. */
function played(id, breaksAfter = Infinity) {
  let left = breaksAfter;
  const chat = async ({ messages }) => {
    left -= 1;
    if (left < 0) throw new Unavailable("out of order");
    const seen = messages.filter(({ role }) => role === "tool").length;
    if (seen === PLAN.length) return "The price was wrong; all tests pass now.";
    const [name, args] = PLAN[seen];
    return { toolCalls: [{ id: `call-${seen}`, name, arguments: args }] };
  };
  return { id, chat };
}

/** Does what the model asks for. */
function tool(folder, { name, arguments: words }) {
  const asked = JSON.parse(words);
  if (name === "run") {
    const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
    const { stdout, stderr } = spawnSync(process.execPath, asked.command.split(" ").slice(1), { cwd: folder, env });
    return `${stdout}${stderr}`;
  }
  if (name === "read") return readFileSync(join(folder, asked.path), "utf8");
  writeFileSync(join(folder, asked.path), asked.text);
  return "written";
}

/** Asks and does until there is nothing more to do. */
async function agent(router, folder, task) {
  const messages = [{ role: "user", content: task }];
  for (;;) {
    const options = { session: "mend", timeoutMs: 60_000 };
    const reply = await router.chat({ model: "agent", messages, tools: TOOLS }, options);
    const [before, after] = reply.receipt.data.compressed;
    console.log(`${reply.receipt.provider}: ${before} -> ${after} tokens, ${reply.receipt.attempts.length} attempts`);
    messages.push(reply.json().choices[0].message);
    if (reply.toolCalls.length === 0) return reply.text;
    for (const call of reply.toolCalls) {
      messages.push({ role: "tool", tool_call_id: call.id, content: tool(folder, call) });
    }
  }
}

function workshop(folder) {
  writeFileSync(join(folder, "shop.mjs"), "export const price = (amount) => amount * 2;\n");
  const head = 'import test from "node:test";\nimport assert from "node:assert";\nimport { price } from "./shop.mjs";\n';
  const one = (n) => `test("price of ${n}", () => assert.equal(price(${n}), ${n * 3}));\n`;
  writeFileSync(join(folder, "shop.test.mjs"), head + Array.from({ length: 40 }, (_, n) => one(n)).join(""));
}

const folder = mkdtempSync(join(tmpdir(), "workshop-"));
workshop(folder);
const config = {
  combos: [{ name: "agent", strategy: "priority", steps: ["first/m", "second/m"] }],
  compression: { plan: "safe" },
  routing: { seed: 7 },
};
const router = new Router(config, { providers: [played("first", 2), played("second")] });
console.log(await agent(router, folder, "make the tests pass"));
await router.close();
rmSync(folder, { recursive: true });
