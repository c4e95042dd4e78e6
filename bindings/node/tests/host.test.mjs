// Life inside a Node program: the event loop, aborts, the end of the process, workers, imports.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { getEventListeners } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import * as om from "omniroute-native";
import { chat, large } from "./given.mjs";

/** Runs of each way to end a program. */
const RUNS = Number(process.env.OMNIROUTE_EXIT_RUNS ?? 3);
/** Calls of which each may leave something behind. */
const CALLS = 100;

/** Runs a script with `om`, `large` and `chat` at hand. */
function script(code, { flags = [], timeout = 120_000 } = {}) {
  const head = `import * as om from "omniroute-native"; import { chat, large } from "./tests/given.mjs";`;
  const words = [...flags, "--input-type=module", "-e", head + code];
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: "utf8", timeout });
  return { status, stdout, stderr };
}

/** Turns of the event loop until the promise that `work` gives is settled. */
async function turns(work) {
  let count = 0;
  let done = false;
  const settled = work().then(() => (done = true));
  for (;;) {
    await turn();
    if (done) break;
    count += 1;
  }
  await settled;
  return count;
}

test("the event loop turns while a large body is compressed", async () => {
  const body = large();
  const messages = JSON.parse(body).messages;
  const compressor = new om.Compressor();
  assert((await turns(() => compressor.compress(body))) > 10);
  assert((await turns(() => compressor.compressMessages(messages))) > 10);
  // Work on the main thread is seen.
  assert.equal(await turns(async () => new om.Compressor().compressSync(body)), 0);
});

test("several calls at once", async () => {
  const compressor = new om.Compressor();
  const body = Buffer.from(JSON.stringify({ messages: chat() }));
  const expected = om.compressSync(body).text;
  const calls = Array.from({ length: 20 }, (_, n) => compressor.compress(body, { session: `s${n % 3}` }));
  for (const out of await Promise.all(calls)) assert.equal(out.text, expected);
});

test("a signal that is already aborted", async () => {
  const compressor = new om.Compressor();
  const body = large(4);
  const reason = new Error("mine");
  for (const [signal, rule] of [
    [AbortSignal.abort(), { name: "AbortError" }],
    [AbortSignal.abort(reason), reason],
  ]) {
    await assert.rejects(compressor.compress(body, { signal }), rule);
    await assert.rejects(compressor.compress("{}", { signal }), rule);
    await assert.rejects(compressor.compressMessages(chat(), { signal }), rule);
    await assert.rejects(compressor.compressText("x".repeat(9000), { signal }), rule);
    await assert.rejects(om.compress(body, { signal }), rule);
    assert.equal(getEventListeners(signal, "abort").length, 0);
  }
  assert.equal(compressor.stats().calls, 0);
});

test("an abort while the work is under way", async () => {
  const compressor = new om.Compressor();
  const messages = JSON.parse(large()).messages;
  const before = JSON.stringify(messages);
  const control = new AbortController();
  const order = [];
  const call = compressor.compressMessages(messages, { signal: control.signal });
  const work = call.catch((error) => order.push(error.name));
  const behind = compressor.compress(large(40)).then(() => order.push("behind"));
  await turn();
  control.abort();
  await work;
  assert.deepEqual(order, ["AbortError"]); // at once, not when the work is done
  await behind;
  assert.equal(getEventListeners(control.signal, "abort").length, 0);
  assert.equal(JSON.stringify(messages), before);
});

/** Holds every thread of the pool until it is told to let go. */
async function pool() {
  const dir = mkdtempSync(join(tmpdir(), "omniroute-"));
  const pipe = join(dir, "pipe");
  assert.equal(spawnSync("mkfifo", [pipe]).status, 0);
  // To open a pipe for reading waits, on a thread of the pool, for one who writes.
  const readers = Array.from({ length: Number(process.env.UV_THREADPOOL_SIZE ?? 4) }, () => open(pipe, "r"));
  return async () => {
    const writer = openSync(pipe, "r+");
    for (const reader of await Promise.all(readers)) await reader.close();
    closeSync(writer);
    rmSync(dir, { recursive: true });
  };
}

test("work that has not begun when it is aborted never does", async () => {
  const compressor = new om.Compressor();
  const controls = Array.from({ length: 40 }, () => new AbortController());
  const body = large(20);
  const letGo = await pool();
  const calls = controls.map((control) => compressor.compress(body, { signal: control.signal }));
  for (const control of controls) control.abort();
  for (const { status, reason } of await Promise.allSettled(calls)) {
    assert.deepEqual([status, reason.name], ["rejected", "AbortError"]);
  }
  const behind = compressor.compress(body); // stands behind them in the queue
  await letGo();
  await behind;
  assert.equal(compressor.stats().calls, 1);
});

/** Memory that is still held after `work`, in bodies. */
async function held(body, work) {
  const settle = async () => {
    for (let n = 0; n < 5; n += 1) {
      global.gc();
      await turn();
    }
    return process.memoryUsage.rss();
  };
  const before = await settle();
  const kept = await work();
  const after = await settle();
  return { bodies: (after - before) / body.byteLength, kept };
}

test("nothing is left behind, aborted or not", async () => {
  const compressor = new om.Compressor();
  const body = large(40);
  const many = async (use) => {
    const kept = [];
    for (let n = 0; n < CALLS; n += 1) kept.push(await use());
    return kept;
  };
  const finish = async (signal) => void (await compressor.compress(body, { signal })).body;
  const abort = () => {
    const control = new AbortController();
    setImmediate(() => control.abort());
    return finish(control.signal).catch(() => undefined);
  };
  const shared = new AbortController().signal;
  await many(abort); // what is kept once for all is there
  for (const use of [abort, () => finish(shared)]) {
    const { bodies } = await held(body, () => many(use));
    assert(bodies < CALLS / 2, `${bodies} of ${CALLS}`);
  }
  assert.equal(getEventListeners(shared, "abort").length, 0);
  // Bodies that somebody keeps are seen.
  const { bodies, kept } = await held(body, () => many(() => Buffer.from(body)));
  assert(bodies > CALLS / 2, `${bodies} of ${kept.length}`);
});

const ENDS = {
  "after a sync call": ["om.compressSync(large(4)); console.log('end');", 0, "end\n"],
  "after an awaited call": ["await om.compress(large(4)); console.log('end');", 0, "end\n"],
  "with a compressor that was never used": ["globalThis.c = new om.Compressor(); console.log('end');", 0, "end\n"],
  "while a call is pending": ["om.compress(large(20)).then((out) => console.log(out.changed));", 0, "true\n"],
  "after an abort": [
    "const a = new AbortController();" +
      "om.compress(large(20), { signal: a.signal }).catch((error) => console.log(error.name)); a.abort();",
    0,
    "AbortError\n",
  ],
  "by exit while calls are pending": [
    "for (let n = 0; n < 8; n += 1) om.compress(large(20)); setImmediate(() => process.exit(3));",
    3,
    "",
  ],
};

for (const [name, [code, status, stdout]] of Object.entries(ENDS)) {
  test(`the process ends ${name}`, () => {
    for (let run = 0; run < RUNS; run += 1) assert.deepEqual(script(code), { status, stdout, stderr: "" });
  });
}

test("the process ends by an exception while calls are pending", () => {
  const { status, stderr } = script("for (let n = 0; n < 8; n += 1) om.compress(large(20)); throw new Error('mine');");
  assert.equal(status, 1);
  assert.match(stderr, /Error: mine/);
});

test("a process that does not end is seen", () => {
  assert.equal(script("setInterval(() => 0, 1000);", { timeout: 2000 }).status, null);
});

const WORKERS = `
import { once } from "node:events";
import { Worker } from "node:worker_threads";
const start = (code) => new Worker(
  'import * as om from "omniroute-native"; import { parentPort } from "node:worker_threads";' + code,
  { eval: true, workerData: large(20) },
);
`.replace("eval: true", "eval: true, execArgv: ['--input-type=module']");

test("workers", () => {
  const code = `
    const same = om.compressSync(large(20)).text;
    const job = 'import { workerData } from "node:worker_threads";'
      + 'parentPort.postMessage((await om.compress(workerData)).text);';
    const crew = Array.from({ length: 4 }, () => start(job));
    const ends = crew.map((worker) => once(worker, "exit"));
    const texts = await Promise.all(crew.map(async (worker) => (await once(worker, "message"))[0]));
    await Promise.all(ends);
    console.log(texts.every((text) => text === same));
  `;
  assert.deepEqual(script(WORKERS + code), { status: 0, stdout: "true\n", stderr: "" });
});

test("a worker is terminated or ends while it works", () => {
  const code = `
    const job = 'import { workerData } from "node:worker_threads"; const c = new om.Compressor();'
      + 'for (let n = 0; n < 3; n += 1) c.compress(workerData, { signal: new AbortController().signal });'
      + 'c.compressMessages(JSON.parse(Buffer.from(workerData)).messages); parentPort.postMessage(0);';
    for (let round = 0; round < 2; round += 1) {
      const crew = [start(job), start(job + "process.exit(0);"), start(job)];
      const ends = crew.map((worker) => once(worker, "exit"));
      await Promise.race(crew.map((worker) => once(worker, "message")));
      crew[0].terminate();
      await Promise.all(ends);
    }
    console.log((await om.compress(large(4))).changed);
  `;
  for (let run = 0; run < RUNS; run += 1) {
    assert.deepEqual(script(WORKERS + code), { status: 0, stdout: "true\n", stderr: "" });
  }
});

/** Modules that `code` loads. */
function loaded(code) {
  const program = `
    const before = new Set(process.moduleLoadList);
    ${code}
    const found = process.moduleLoadList.filter((name) => !before.has(name));
    const builtin = found.filter((name) => !name.startsWith("NativeModule internal/modules/")); // Node's own resolver
    const files = Object.keys(require.cache).map((path) => path.split(/node_modules[\\\\/]/).at(-1));
    console.log(JSON.stringify([builtin, files]));
  `;
  const { stdout, stderr } = spawnSync(process.execPath, ["-e", program], { encoding: "utf8" });
  assert.equal(stderr, "");
  return JSON.parse(stdout);
}

test("the import loads nothing but the package", () => {
  const [builtin, files] = loaded('require("omniroute-native");');
  assert.deepEqual(builtin, []);
  assert.deepEqual(files.filter((path) => !path.startsWith("omniroute-native")), []);
  assert.equal(files.filter((path) => path.endsWith(".node")).length, 1);
  assert(files.length <= 8, files.join());
  assert.notDeepEqual(loaded('require("node:http");')[0], []);
});

test("the permission model", () => {
  const name = process.allowedNodeEnvironmentFlags.has("--permission") ? "--permission" : "--experimental-permission";
  const flags = [name, "--allow-fs-read=*", "--allow-addons", "--no-warnings"];
  const ended = script("console.log(om.compressSync({ messages: chat() }).changed);", { flags });
  assert.deepEqual(ended, { status: 0, stdout: "true\n", stderr: "" });
});
