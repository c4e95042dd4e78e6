// Prints what the package costs on this machine: import, first call, crossing, routing, workers. Times are process CPU where
// nothing else is said, best of many; run by `make node-measure`. What is compared is given the same model: another way
// of counting would be another compressor behind the same object.

import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { isMainThread, parentPort, Worker } from "node:worker_threads";

/** Of each call; the least counts. */
const TIMES = 25;
/** What a vendor says. */
const REPLY = {
  id: "1",
  object: "chat.completion",
  created: 1,
  model: "gpt-5",
  choices: [{ index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
};
const IMPORT = (name) => `
const before = new Set(process.moduleLoadList);
const rss = process.memoryUsage.rss();
const cpu = process.cpuUsage();
require(${JSON.stringify(name)});
const { user, system } = process.cpuUsage(cpu);
const more = process.memoryUsage.rss() - rss;
const files = Object.keys(require.cache).filter((path) => !path.includes("omniroute-native"));
const found = process.moduleLoadList.filter((name) => !before.has(name));
const builtin = found.filter((name) => !name.startsWith("NativeModule internal/modules/")); // Node's own resolver
console.log(JSON.stringify([(user + system) / 1e3, more / 1e6, files.length + builtin.length]));
`;

if (isMainThread) await main();
else work();

async function main() {
  const [empty, ours] = imports(emptyPackage(), "omniroute-native");
  console.log(`import: ${ours[0].toFixed(1)} ms CPU, ${ours[1].toFixed(1)} MB, ${ours[2]} other modules`);
  console.log(`import of an empty package: ${empty[0].toFixed(1)} ms CPU, ${empty[1].toFixed(1)} MB`);

  const om = await import("omniroute-native");
  const raw = readFileSync(process.argv[2]);
  const request = JSON.parse(raw);
  const { messages, tools, model } = request;
  console.log(`session: ${messages.length} messages, ${raw.length} bytes`);
  const compact = Buffer.from(JSON.stringify(request));
  const start = process.cpuUsage();
  new om.Compressor().compressSync(raw);
  console.log(`first call: ${spent(start).toFixed(1)} ms CPU`);

  const options = { tools, model };
  for (const plan of ["off", "safe"]) {
    await crossing(`plan ${plan}`, () => new om.Compressor({ plan }));
  }
  const known = new om.Compressor();
  known.compressMessagesSync(messages, options);
  await crossing("known session", () => known);
  const [making] = await best(() => undefined, () => new om.Compressor());
  console.log(`making a compressor: ${making.toFixed(3)} ms CPU`);

  await routing("1 KB", { model: "openai/gpt-5", messages: [{ role: "user", content: "word ".repeat(200) }] });
  await routing(`the session of ${messages.length} messages`, { ...request, model: "openai/gpt-5" });

  const blocked = await busy((c) => c.compress(compact));
  const walked = await busy((c) => c.compressMessages(messages, options));
  const both = `${blocked.toFixed(2)} ms with bytes, ${walked.toFixed(2)} ms with messages`;
  console.log(`promises: the event loop is busy for ${both}`);

  const one = await wall(1, compact);
  const two = await wall(2, compact);
  const ratio = ((2 * one) / two).toFixed(2);
  console.log(`two workers, two sessions: ${ratio}x one worker (of ${availableParallelism()} processors)`);
  console.log(`peak memory: ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MB`);

  async function crossing(what, make) {
    const [engine, lists] = await best(
      make,
      (compressor) => compressor.compressSync(compact, { model }),
      (compressor) => compressor.compressMessagesSync(messages, options),
    );
    const shown = `bytes ${engine.toFixed(2)} ms, messages ${lists.toFixed(2)} ms CPU`;
    console.log(`${what}: ${shown}; crossing ${(lists - engine).toFixed(2)} ms`);
  }

  /**
   * CPU of `Router.chat`, one candidate, over a transport that answers at once, less that transport awaited alone: its head
   * and its body. All threads of the process count.
   */
  async function routing(what, ask) {
    const answer = Buffer.from(JSON.stringify(REPLY));
    const reader = () => {
      const pieces = [answer];
      return { read: async () => ({ done: pieces.length === 0, value: pieces.pop() }), cancel: async () => undefined };
    };
    const headers = [["content-type", "application/json"]];
    const fetch = async () => ({ status: 200, headers, body: { getReader: reader } });
    const body = Buffer.from(JSON.stringify(ask));
    const alone = async () => {
      const pieces = (await fetch()).body.getReader();
      while (!(await pieces.read()).done);
    };
    for (const plan of ["off", "safe"]) {
      const config = { connections: [{ id: "openai/x", key: "not-a-key" }], compression: { plan } };
      const router = new om.Router(config, { fetch });
      const chat = async () => void (await router.chat(body)).body;
      const [times, rounds] = body.length > 1e5 ? [5, 20] : [25, 200];
      await short(chat, 10 * times);
      const [least, nothing] = [await shortest(chat), await shortest(alone)];
      await router.close();
      const figure = `${((least - nothing) * 1e3).toFixed(0)} us CPU (transport alone ${(nothing * 1e3).toFixed(1)})`;
      console.log(`Router.chat, ${what}, plan ${plan}: ${figure}`);

      async function shortest(work) {
        let found = Infinity;
        for (let n = 0; n < rounds; n += 1) found = Math.min(found, await short(work, times));
        return found;
      }
    }

    async function short(work, times) {
      const start = process.cpuUsage();
      for (let n = 0; n < times; n += 1) await work();
      return spent(start) / times;
    }
  }

  /** Shortest time that the loop does not wait, from call to result. */
  async function busy(call) {
    let least = Infinity;
    for (let n = 0; n < TIMES; n += 1) {
      const compressor = new om.Compressor();
      await new Promise(setImmediate);
      const before = performance.eventLoopUtilization();
      await call(compressor);
      await new Promise(setImmediate);
      least = Math.min(least, performance.eventLoopUtilization(before).active);
    }
    return least;
  }
}

function spent(start) {
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1e3;
}

/**
 * Least CPU of each work, in turns, each time on what `make` gives before the clock starts. Memory is collected when the
 * host wants to: a forced collection also throws compiled code away, which no program does between two calls.
 */
async function best(make, ...works) {
  const least = works.map(() => Infinity);
  for (let n = 0; n < TIMES; n += 1) {
    for (const [at, work] of works.entries()) {
      const given = make();
      await new Promise(setImmediate); // what was collected is only let go in a turn of the loop
      const start = process.cpuUsage();
      work(given);
      least[at] = Math.min(least[at], spent(start));
    }
  }
  return least;
}

/** Shortest time for each of `count` workers to compress a session of its own a few times. */
async function wall(count, body) {
  const crew = Array.from({ length: count }, () => new Worker(new URL(import.meta.url)));
  const all = (message) => {
    const done = crew.map((worker) => once(worker, "message"));
    for (const worker of crew) worker.postMessage(message);
    return Promise.all(done);
  };
  await all(body);
  let least = Infinity;
  for (let n = 0; n < 5; n += 1) {
    const start = performance.now();
    await all("again");
    least = Math.min(least, performance.now() - start);
  }
  for (const worker of crew) await worker.terminate();
  return least;
}

async function work() {
  const om = await import("omniroute-native");
  let body;
  parentPort.on("message", (message) => {
    if (message === "again") for (let n = 0; n < 5; n += 1) new om.Compressor().compressSync(body);
    else body = message;
    parentPort.postMessage("done");
  });
}

/** Middle CPU, memory and number of other modules of the import of each package, in turns. */
function imports(...names) {
  const rows = names.map(() => []);
  for (let n = 0; n < 9; n += 1) names.forEach((name, at) => rows[at].push(run(["-e", IMPORT(name)])));
  const middle = (column) => column.sort((a, b) => a - b)[4];
  return rows.map((found) => [0, 1, 2].map((n) => middle(found.map((row) => row[n]))));
}

/** A package with entry points as ours has them, and nothing in it: what the host's own search takes. */
function emptyPackage() {
  const folder = join("node_modules", "empty");
  mkdirSync(folder, { recursive: true });
  const exports = { ".": { import: "./index.mjs", require: "./index.cjs" } };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "empty", exports }));
  writeFileSync(join(folder, "index.cjs"), "");
  return "empty";
}

function run(words) {
  const { stdout, stderr, status } = spawnSync(process.execPath, words, { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}
