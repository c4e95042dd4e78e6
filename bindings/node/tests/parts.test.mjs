// Providers and strategies that are written in JavaScript.

import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";

import * as om from "omniroute-native";
import { Script } from "omniroute-native/testing";
import { scripted, whole } from "./vendor.mjs";

const ASK = { model: "mine/small", messages: [{ role: "user", content: "hello" }] };
const CALL = { id: "c1", name: "read", arguments: '{"path": "a"}' };

/** A provider that says what it was told to. */
function mine(said, more = {}) {
  const asked = [];
  const chat = async (request, context) => {
    asked.push({ model: request.model, stream: request.stream, messages: request.messages, ...context });
    return typeof said === "function" ? said(context) : said;
  };
  return { id: "mine", models: ["small"], asked, chat, ...more };
}

const routed = (provider) => new om.Router({}, { providers: [provider] });

async function* talks() {
  yield "one";
  yield { type: "text", text: " two" };
  yield { type: "tool_call", index: 0, id: "c1", name: "read", arguments: "" };
  yield { type: "tool_call", index: 0, arguments: '{"path": "a"}' };
  yield { type: "usage", input: 5, output: 2, cached: 1, reasoning: 0 };
}

test("a provider answers in every way", async () => {
  const one = mine("hello");
  assert.equal((await routed(one).chat(ASK)).text, "hello");
  const { signal, ...asked } = one.asked[0];
  assert.deepEqual(asked, { model: "small", stream: false, messages: ASK.messages, provider: "mine" });
  assert.equal(signal.aborted, false);
  const usage = { input: 5, output: 2, cached: 1, reasoning: 0 };
  for (const said of [{ text: "one two", toolCalls: [CALL], usage }, talks]) {
    const reply = await routed(mine(said)).chat(ASK);
    assert.deepEqual([reply.text, reply.toolCalls, reply.usage, reply.stop], ["one two", [CALL], usage, "tool_calls"]);
  }
  for (const said of [whole("as it is"), Buffer.from(JSON.stringify(whole("as it is")))]) {
    assert.equal((await routed(mine(said)).chat(ASK)).text, "as it is");
  }
  const anthropic = await routed(mine("hello")).chat({ ...ASK, max_tokens: 9 }, { wire: "anthropic" });
  assert.deepEqual(anthropic.json().content, [{ type: "text", text: "hello" }]);
});

test("a provider streams and is left", async () => {
  let ended = 0;
  const told = async function* () {
    try {
      yield* talks();
    } finally {
      ended += 1;
    }
  };
  const router = routed(mine(told));
  const events = [];
  for await (const event of router.stream(ASK)) events.push(event);
  assert.deepEqual(events.slice(0, 2), [{ type: "text", text: "one" }, { type: "text", text: " two" }]);
  assert.deepEqual(events.find(({ type }) => type === "stop"), { type: "stop", reason: "tool_calls" });
  assert.equal(ended, 1);
  for await (const _ of router.stream(ASK)) break;
  while (ended < 2) await new Promise(setImmediate);
  const text = [];
  for await (const event of routed(mine("whole")).stream(ASK)) text.push(event.text);
  assert(text.includes("whole"));
});

test("what a provider throws", async () => {
  for (const [thrown, Kind, code] of [
    [new om.Filtered("not that"), om.Filtered, "filtered"],
    [new om.RateLimited("later", { code: "rate_limited" }), om.RateLimited, "rate_limited"],
    [new TypeError("oh"), om.Unavailable, "unavailable"],
  ]) {
    const one = mine(() => {
      throw thrown;
    });
    const error = await routed(one).chat(ASK).catch((caught) => caught);
    assert(error instanceof Kind && error.code === code && error.cause === thrown, inspect(error));
  }
  const error = await routed(mine(12)).chat(ASK).catch((caught) => caught);
  assert.match(error.message, /chat must give a string.*got number/);
});

test("giving up reaches the provider", async () => {
  let gone;
  const slow = mine(({ signal }) => new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(gone = signal.reason));
  }));
  await assert.rejects(routed(slow).chat(ASK, { timeoutMs: 10 }), om.Cancelled);
  assert.equal(gone.name, "AbortError");
});

function backwards(more = {}) {
  const seen = [];
  const outcomes = [];
  const plan = (context, candidates) => {
    seen.push([context.task, ...candidates.map(({ key }) => key)]);
    return candidates.reverse();
  };
  const observe = ({ key, failed }) => void outcomes.push([key, failed]);
  return { id: "mine", seen, outcomes, plan, observe, ...more };
}

function withStrategy(strategy, replies) {
  const config = scripted(2);
  config.combos[0].strategy = "mine";
  const script = new Script(replies);
  return { script, router: new om.Router(config, { strategies: [strategy], fetch: script.fetch }) };
}

const ALL = { ...ASK, model: "all" };

test("a strategy decides and is told", async () => {
  const strategy = backwards();
  const { router } = withStrategy(strategy, [{ body: whole("second") }]);
  const { receipt } = await router.chat(ALL);
  assert.deepEqual([receipt.provider, receipt.data.plan.strategy], ["vendor1", "mine"]);
  assert.match(String(router.explain(ALL)), /vendor1/);
  assert.deepEqual(strategy.seen[0], ["default", "vendor0/test/m", "vendor1/test/m"]);
  assert.deepEqual(strategy.outcomes, [["vendor1/test/m", null]]);
});

test("a strategy may use the router meanwhile", async () => {
  let router;
  const seen = [];
  const plan = (_, candidates) => {
    if (seen.length === 0) {
      seen.push(router.health().requests, router.models().length > 0);
      seen.push(String(router.explain(ALL)));
    }
    return candidates;
  };
  ({ router } = withStrategy({ id: "mine", plan }, [{ body: whole("fine") }]));
  assert.equal((await router.chat(ALL)).text, "fine");
  assert.equal(seen.length, 3);
});

test("a strategy ends the call that asks it", async () => {
  let stream;
  const plan = (_, candidates) => {
    stream.close();
    return candidates;
  };
  const { router, script } = withStrategy({ id: "mine", plan }, [{ body: whole("x") }]);
  stream = router.stream(ALL);
  for await (const event of stream) assert.fail(inspect(event));
  assert.equal(script.requests.length, 0);
  const { breakers } = router.health().resilience;
  assert(breakers.every((one) => one.in_flight === 0));
});

test("a strategy that asks itself for ever is an error", async () => {
  let router;
  let times = 0;
  const plan = (_, candidates) => {
    times += 1;
    void router.explain(ALL);
    return candidates;
  };
  ({ router } = withStrategy({ id: "mine", plan }, []));
  await assert.rejects(router.chat(ALL), (error) => /it asks a router that asks it/.test(error.message));
  assert.equal(times, 4);
});

test("a strategy that gives no plan", async () => {
  const plans = [() => [7], () => ["x"], () => 1 / 0, () => [0, 0], () => null.x, () => Promise.resolve([0])];
  for (const plan of plans) {
    const { router, script } = withStrategy(backwards({ plan }), [{ body: whole("x") }]);
    const error = await router.chat(ALL).catch((caught) => caught);
    assert(error instanceof om.Internal && error.code === "strategy_error", inspect(error));
    assert.match(error.message, /strategy "mine"/);
    assert.equal(script.requests.length, 0);
  }
});

test("what is thrown while nobody waits is a warning", async () => {
  const warned = new Promise((resolve) => process.once("warning", resolve));
  const observe = () => {
    throw new TypeError("mine alone");
  };
  const { router } = withStrategy(backwards({ observe }), [{ body: whole("fine") }]);
  assert.equal((await router.chat(ALL)).text, "fine");
  assert.equal((await warned).message, "mine alone");
});

test("wrong shapes are found when the router is made", () => {
  const chat = () => "x";
  class Provider {}
  for (const [options, rule] of [
    [{ providers: [{ id: "mine", chat: "x" }] }, /provider "mine": chat must be a function \(got string\)/],
    [{ providers: [{ id: "mine" }] }, /got undefined/],
    [{ providers: [{ id: "a/b", chat }] }, /without "\/"/],
    [{ providers: [{ id: 3, chat }] }, /has an id that is a string/],
    [{ providers: [Provider] }, /not the class Provider/],
    [{ providers: [{ id: "m", chat }, { id: "m", chat }] }, /twice/],
    [{ providers: [{ id: "m", chat, models: "x" }] }, /array of strings/],
    [{ strategies: [{ id: "s", plan: async () => [] }] }, /not async/],
    [{ strategies: [{ id: "s" }] }, /got undefined/],
    [{ strategies: [{ id: "s", plan: () => [], observe: 1 }] }, /observe must be a function/],
    [{ providers: {} }, /providers: expected an array/],
    [{ fetch: 3 }, /fetch: expected a function/],
  ]) {
    const wrong = (error) => error instanceof om.RequestError && error.code === "bad_argument" && rule.test(error.message);
    assert.throws(() => new om.Router({}, options), wrong);
  }
});
