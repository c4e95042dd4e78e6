// Each error code has exactly one class.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

import * as om from "omniroute-native";

const require = createRequire(import.meta.url);
const { translated } = require("../node_modules/omniroute-native/lib/errors.cjs");
const { codes, Engine } = require("../node_modules/omniroute-native/lib/native.cjs");

/** Codes whose class is not one of ours. */
function missing(table) {
  return table.filter((row) => !(om[row.class]?.prototype instanceof om.OmnirouteError)).map((row) => row.code);
}

test("every code has a class", () => {
  const table = codes();
  assert.deepEqual(missing(table), []);
  assert.equal(new Set(table.map((row) => row.code)).size, table.length);
  assert.deepEqual(missing([...table, { code: "made_up", class: "NoSuchClass" }]), ["made_up"]);
  for (const { code, class: name, summary } of table) {
    const error = translated(new Error(JSON.stringify({ code, class: name, message: summary, mistakes: [] })));
    assert(error instanceof om[name] && error instanceof om.OmnirouteError && error instanceof Error);
    assert.deepEqual([error.name, error.code, error.message], [name, code, summary]);
    assert(error.stack.startsWith(`${name}: ${summary}`));
  }
});

test("both module systems have the same classes", () => {
  const required = require("omniroute-native");
  assert.deepEqual(Object.keys(required).sort(), Object.keys(om).sort());
  for (const name of Object.keys(required)) assert.equal(required[name], om[name], name);
});

test("mistakes in a configuration come all at once", () => {
  assert.throws(
    () => new om.Compressor({ plan: "saef", strikt: true }),
    (error) => {
      assert(error instanceof om.ConfigError);
      assert.equal(error.code, "config");
      assert.deepEqual(error.errors, [
        'plan: "saef" is not a plan, an engine or a combo; did you mean "safe"?',
        'strikt: this key is not known; did you mean "strict"?',
      ]);
      return true;
    },
  );
});

test("names of a call", async () => {
  const compressor = new om.Compressor();
  const big = JSON.stringify({ messages: [], pad: " ".repeat(10_000) });
  for (const body of ["{}", big]) {
    for (const [options, code] of [[{ wire: "soap" }, "unknown_wire"], [{ plan: "stakced" }, "unknown_plan"]]) {
      const rule = (error) => error instanceof om.RequestError && error.code === code && !error.message.includes("\n");
      assert.throws(() => compressor.compressSync(body, options), rule);
      await assert.rejects(compressor.compress(body, options), rule);
      await assert.rejects(compressor.compress(body, { ...options, signal: new AbortController().signal }), rule);
    }
  }
});

test("texts that do not fit their body", () => {
  const engine = new Engine("{}", true);
  const run = (body, lengths) => engine.run({ what: "edits", lengths }, Buffer.from(body));
  assert.equal(run('{"messages":["\\u0000"]}abc', [23, 3]).applied, false);
  for (const [body, lengths] of [
    ["{}", []],
    ["{}", [3]],
    ["{}abc", [2, 3]],
    ['{"messages":["\\u0000"]}abc', [23]],
    ['{"messages":["\\u0000"]}\u00e9', [23, 1]],
  ]) {
    assert.throws(() => run(body, lengths), (error) => translated(error).code === "internal", body);
  }
});

test("strict", () => {
  const strict = new om.Compressor({ strict: true });
  const rule = (error) => error.code === "bad_body" && !error.message.includes("secret");
  assert.throws(() => strict.compressSync("{ secret"), rule);
});

// The package that has them is checked where it is made.
test("exact counts without vocabularies", () => {
  assert.equal(om.EXACT_TOKENS, false);
  const rule = (error) => error instanceof om.ConfigError && /tokens-exact/.test(error.message);
  assert.throws(() => new om.Compressor({ count: "exact" }), rule);
});
