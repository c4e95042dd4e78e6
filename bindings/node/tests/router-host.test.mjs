// A router inside a Node program: many calls on one thread, the end of the process, workers, both module systems.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";

import * as om from "omniroute-native";
import * as testing from "omniroute-native/testing";
import { ASK, scripted, whole } from "./vendor.mjs";

const RUNS = Number(process.env.OMNIROUTE_EXIT_RUNS ?? 3);
const require = createRequire(import.meta.url);

test("500 chats on one thread", async () => {
  const clock = new testing.VirtualClock();
  const config = scripted(3);
  config.combos[0].strategy = "round-robin";
  const threads = () => (process.platform === "linux" ? readdirSync("/proc/self/task").length : 1);
  // Answers each request with its own number, in another order than they came; one vendor is down.
  const fetch = async (url, { body }) => {
    const { content } = JSON.parse(Buffer.from(body)).messages[0];
    await clock.sleep(100 * (1 + (Number(content.slice(1)) % 7)));
    const isDown = url.includes("vendor0");
    return new Response(JSON.stringify(isDown ? { error: { message: "down" } } : whole(content)), { status: isDown ? 503 : 200 });
  };
  const router = new om.Router(config, { fetch, clock });
  const names = Array.from({ length: 500 }, (_, n) => `n${n}`);
  await router.chat({ model: "all", messages: [{ role: "user", content: "n0" }] }); // fetch of the host is loaded
  const before = threads();
  const calls = names.map((content) => router.chat({ model: "all", messages: [{ role: "user", content }] }));
  const replies = await Promise.all(calls);
  assert.deepEqual(replies.map(({ text }) => text), names);
  assert.equal(new Set(replies.map(({ receipt }) => receipt.request)).size, 500);
  assert(threads() <= before);
});

test("a virtual clock waits for nobody", async () => {
  const clock = new testing.VirtualClock();
  const busy = { status: 429, body: { error: { message: "slow down", code: "rate_limit_exceeded" } }, after_ms: 60_000 };
  const { fetch } = new testing.Script([busy, { body: whole("late"), after_ms: 60_000 }], { clock });
  const reply = await new om.Router(scripted(2), { fetch, clock }).chat(ASK);
  assert.equal(reply.text, "late");
  assert(clock.ms >= 120_000);
});

test("both module systems have the same objects", () => {
  const required = require("omniroute-native/testing");
  for (const name of Object.keys(required)) assert.equal(required[name], testing[name], name);
  const { Router, OmnirouteError } = require("omniroute-native");
  assert.equal(Router, om.Router);
  assert.throws(() => new Router({ combos: 3 }), (error) => error instanceof om.ConfigError && error instanceof OmnirouteError);
});

const HEAD = `
  import { createServer } from "node:http";
  import { once } from "node:events";
  import * as om from "omniroute-native";
  import { ASK, config, says } from "./tests/vendor.mjs";
  const server = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    setTimeout(() => says("hello back")(JSON.parse(Buffer.concat(parts)), response), 20);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  server.unref();
  const url = "http://127.0.0.1:" + server.address().port + "/v1";
  const router = new om.Router(config(url));
`;

function script(code, timeout = 120_000) {
  const words = ["--input-type=module", "-e", HEAD + code];
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: "utf8", timeout });
  return { status, stdout, stderr };
}

const ENDS = {
  "with a router that was never used": ["", 0, ""],
  "after an awaited call": ["console.log((await router.chat(ASK)).text);", 0, "hello back\n"],
  "while calls are under way": [
    "for (let n = 0; n < 5; n += 1) void router.chat(ASK); router.chat(ASK).then((reply) => console.log(reply.text));",
    0,
    "hello back\n",
  ],
  "with a stream that is not read on": ["await router.stream(ASK).begin(); console.log('begun');", 0, "begun\n"],
  "after a stream that was left": ["for await (const _ of router.stream(ASK)) break; console.log('left');", 0, "left\n"],
  "by exit while calls are under way": [
    "for (let n = 0; n < 5; n += 1) void router.chat(ASK); setTimeout(() => process.exit(3), 5);",
    3,
    "",
  ],
  "after an abort": [
    "const a = new AbortController(); router.chat(ASK, { signal: a.signal }).catch((e) => console.log(e.name)); a.abort();",
    0,
    "AbortError\n",
  ],
};

for (const [name, [code, status, stdout]] of Object.entries(ENDS)) {
  test(`the process ends ${name}`, () => {
    for (let run = 0; run < RUNS; run += 1) assert.deepEqual(script(code), { status, stdout, stderr: "" });
  });
}

test("the check sees a bad end", () => {
  for (const code of ["process.abort();", "console.error('late');", "setInterval(() => 0, 1000);"]) {
    assert.notDeepEqual(script(code, 3000), { status: 0, stdout: "", stderr: "" });
  }
});

test("workers route for themselves, and may be terminated meanwhile", () => {
  const code = `
    import { Worker } from "node:worker_threads";
    const start = (code) => new Worker(
      'import * as om from "omniroute-native"; import { parentPort, workerData } from "node:worker_threads";'
        + 'import { ASK, config } from "./tests/vendor.mjs"; import { large } from "./tests/given.mjs";'
        + 'const router = new om.Router(config(workerData));' + code,
      { eval: true, execArgv: ["--input-type=module"], workerData: url },
    );
    server.ref();
    const one = start('parentPort.postMessage((await router.chat(ASK)).text);');
    const end = once(one, "exit");
    console.log((await once(one, "message"))[0]);
    await end;
    const busy = 'for (let n = 0; n < 5; n += 1) router.chat({ ...JSON.parse(large(10)), model: "all" }).catch(() => 0);'
      + 'const s = router.stream(ASK); void s.begin(); parentPort.postMessage(0);';
    for (const more of ['', 'process.exit(0);']) {
      const worker = start(busy + more);
      const ended = once(worker, "exit");
      await once(worker, "message");
      await worker.terminate();
      await ended;
    }
    console.log((await router.chat(ASK)).text);
    server.close();
  `;
  for (let run = 0; run < RUNS; run += 1) {
    assert.deepEqual(script(code), { status: 0, stdout: "hello back\nhello back\n", stderr: "" });
  }
});
