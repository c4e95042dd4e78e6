// Prints what the package costs on this machine: import, first call, crossing, workers. Times are process CPU where
// nothing else is said, best of many; run by `make node-measure`.

import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { performance } from "node:perf_hooks";
import { isMainThread, parentPort, Worker } from "node:worker_threads";

/** Of each call; the least counts. */
const TIMES = 25;
const IMPORT = `
const before = new Set(process.moduleLoadList);
const rss = process.memoryUsage.rss();
const cpu = process.cpuUsage();
require("omniroute-native");
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
  const imports = Array.from({ length: 9 }, () => run(["-e", IMPORT]));
  const median = (n) => imports.map((row) => row[n]).sort((a, b) => a - b)[4];
  console.log(`import: ${median(0).toFixed(1)} ms CPU, ${median(1).toFixed(1)} MB, ${imports[0][2]} other modules`);

  const om = await import("omniroute-native");
  const path = process.argv[2] ?? "";
  const raw = existsSync(path) ? readFileSync(path) : madeUp();
  const request = JSON.parse(raw);
  const { messages, tools, model } = request;
  console.log(`session: ${messages.length} messages, ${raw.length} bytes${existsSync(path) ? "" : " (made up)"}`);
  const compact = Buffer.from(JSON.stringify(request));
  const start = process.cpuUsage();
  new om.Compressor().compressSync(raw);
  console.log(`first call: ${spent(start).toFixed(1)} ms CPU`);

  const options = { tools, model };
  for (const plan of ["off", "safe"]) {
    crossing(`plan ${plan}`, () => new om.Compressor({ plan }));
  }
  const known = new om.Compressor();
  known.compressMessagesSync(messages, options);
  crossing("known session", () => known);
  const [making] = best(() => undefined, () => new om.Compressor());
  console.log(`making a compressor: ${making.toFixed(3)} ms CPU`);

  const blocked = await busy((c) => c.compress(compact));
  const walked = await busy((c) => c.compressMessages(messages, options));
  const both = `${blocked.toFixed(2)} ms with bytes, ${walked.toFixed(2)} ms with messages`;
  console.log(`promises: the event loop is busy for ${both}`);

  const one = await wall(1, compact);
  const two = await wall(2, compact);
  const ratio = ((2 * one) / two).toFixed(2);
  console.log(`two workers, two sessions: ${ratio}x one worker (of ${availableParallelism()} processors)`);
  console.log(`peak memory: ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MB`);

  function crossing(what, make) {
    const [engine, lists] = best(
      make,
      (compressor) => compressor.compressSync(compact),
      (compressor) => compressor.compressMessagesSync(messages, options),
    );
    const shown = `bytes ${engine.toFixed(2)} ms, messages ${lists.toFixed(2)} ms CPU`;
    console.log(`${what}: ${shown}; crossing ${(lists - engine).toFixed(2)} ms`);
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

/** Least CPU of each work, in turns, each time on what `make` gives before the clock starts. */
function best(make, ...works) {
  const least = works.map(() => Infinity);
  for (let n = 0; n < TIMES; n += 1) {
    works.forEach((work, at) => {
      const given = make();
      global.gc();
      const start = process.cpuUsage();
      work(given);
      least[at] = Math.min(least[at], spent(start));
    });
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

function run(words) {
  const { stdout, stderr, status } = spawnSync(process.execPath, words, { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

function madeUp() {
  const text = Array.from({ length: 40 }, (_, n) => `row ${n} of the file with some words in it\n`).join("");
  const messages = Array.from({ length: 298 }, (_, n) => ({ role: "user", content: `${n} ${text}` }));
  return Buffer.from(JSON.stringify({ model: "gpt-5", messages }));
}
