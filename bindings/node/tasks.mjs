#!/usr/bin/env node
// Builds and checks the npm package: `tasks.mjs test | adapters | clients | dist | measure`, each callable alone.
//
// Everything it makes is under `target/node`. Needs Rust and Node; frameworks come from the package registry once.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, "..", "..");
const BUILT = process.env.CARGO_TARGET_DIR ?? join(ROOT, "target");
const TARGET = join(BUILT, "node");
const MAIN = JSON.parse(readFileSync(join(HERE, "package.json"), "utf8"));
const LIBC = process.platform === "linux" ? "-gnu" : "";
const PLATFORM = `${MAIN.name}-${process.platform}-${process.arch}${LIBC}`;
const LIBRARY = { linux: "libomniroute_node.so", darwin: "libomniroute_node.dylib", win32: "omniroute_node.dll" };
/** One folder each, so that none sees what another one needs. */
const ADAPTERS = ["openai", "ai-sdk", "anthropic"];
const RUNNER = ["--test", "--test-reporter=spec"];
/** Largest packages without vocabularies, in bytes. */
const LIMITS = { main: 100e3, platform: 6e6 };
/** Show that a package counts as it should: exactly, or not. */
const PLAIN = `require("node:assert").equal(require("${MAIN.name}").EXACT_TOKENS, false);`;
const EXACT = `
const { strict: assert } = require("node:assert");
const om = require("${MAIN.name}");
const body = { model: "gpt-5", messages: [{ role: "user", content: "hello world" }] };
const { data, tokensBefore } = new om.Compressor({ count: "exact" }).compressSync(body).receipt;
assert.deepEqual([om.EXACT_TOKENS, data.counter, tokensBefore], [true, { name: "o200k", exact: true }, 2]);
`;

const TASKS = { test, adapters, clients, dist, measure };

/** The package as it is installed: tests, types. */
function test() {
  const folder = environment("test", packages("dev"));
  run(process.execPath, ["--expose-gc", ...RUNNER, ...tests(folder, "tests")], folder);
  typecheck(folder, folder);
}

/** Each adapter with the real framework. */
function adapters() {
  const built = packages("dev");
  const compiler = environment("test", built);
  for (const name of ADAPTERS) {
    const folder = environment(name, built);
    typecheck(compiler, folder, name);
    run(process.execPath, [...RUNNER, ...tests(folder, join("tests", "adapters"), name)], folder);
  }
}

/** Official clients of three vendors against the gateway, which `make unit` has built. */
function clients() {
  const binary = join(BUILT, "debug", process.platform === "win32" ? "omniroute.exe" : "omniroute");
  if (!existsSync(binary)) run(process.env.CARGO ?? "cargo", ["build", "-q", "-p", "omniroute-gateway"], ROOT);
  const asked = join(ROOT, "examples", "gateway", "tests", "clients", "node");
  const folder = join(TARGET, "gateway-clients");
  modules(folder, asked);
  const files = readdirSync(asked).filter((name) => name.endsWith(".mjs"));
  for (const name of files) copy(name, asked, folder);
  Object.assign(process.env, { OMNIROUTE_BIN: binary, OMNIROUTE_ROOT: ROOT });
  run(process.execPath, [...RUNNER, ...files.filter((name) => name.endsWith(".test.mjs"))], folder);
}

/** Release packages without and with vocabularies, and a proof that both work offline in an empty folder. */
function dist() {
  for (const features of [[], ["tokens-exact"]]) {
    const exact = features.length > 0;
    const built = packages("release", features);
    for (const [which, file] of Object.entries(built)) {
      const size = statSync(file).size;
      console.log(`${basename(file)}${exact ? " (with vocabularies)" : ""}: ${(size / 1e6).toFixed(2)} MB`);
      if (!exact && size > LIMITS[which]) throw new Failed(`${basename(file)} is over ${LIMITS[which]} bytes`);
    }
    const folder = join(TARGET, "empty");
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{ "private": true }\n');
    npm(["install", "--offline", "--ignore-scripts", "--cache", join(folder, ".cache"), ...Object.values(built)], folder);
    copy("examples", HERE, folder);
    for (const form of ["mjs", "cjs"]) run(process.execPath, [join("examples", `quickstart.${form}`)], folder);
    run(process.execPath, ["-e", exact ? EXACT : PLAIN], folder);
    npm(["uninstall", "--offline", MAIN.name, PLATFORM], folder);
    const left = [MAIN.name, PLATFORM].filter((name) => existsSync(join(folder, "node_modules", name)));
    if (left.length > 0) throw new Failed(`uninstalling leaves ${left.join(", ")} behind`);
  }
  console.log("offline install, quickstart in both module systems and uninstall work for both");
}

/** Prints the figures of the package on this machine. */
function measure() {
  const folder = environment("measure", packages("release"));
  copy("measure.mjs", HERE, folder);
  const session = join(ROOT, "omniroute-compress", "benches", "data", "session-150k.json");
  run(process.execPath, ["measure.mjs", session], folder);
}

/** Builds both packages and gives the paths of their tarballs. */
function packages(profile, features = []) {
  const name = [profile, ...features].join("-");
  const stage = join(TARGET, "stage", name);
  const out = join(TARGET, "packages", name);
  for (const folder of [stage, out]) rmSync(folder, { recursive: true, force: true });
  const main = join(stage, "main");
  const platform = join(stage, "platform");
  for (const folder of [main, platform, out]) mkdirSync(folder, { recursive: true });
  for (const part of ["package.json", "README.md", "lib"]) copy(part, HERE, main);
  bundle(join(main, "lib"));
  for (const folder of [main, platform]) copy("LICENSE", ROOT, folder);
  cpSync(library(profile, features), join(platform, "omniroute.node"));
  writeFileSync(join(platform, "package.json"), `${JSON.stringify(platformManifest(), null, 2)}\n`);
  writeFileSync(join(platform, "README.md"), `${platformManifest().description}\n`);
  for (const folder of [main, platform]) npm(["pack", "--silent", "--pack-destination", out], folder, "ignore");
  return { main: join(out, `${MAIN.name}-${MAIN.version}.tgz`), platform: join(out, `${PLATFORM}-${MAIN.version}.tgz`) };
}

/**
 * Puts what the package always needs into its first file: each further file costs the host about half a millisecond of
 * import. The other files give the same objects.
 */
function bundle(folder) {
  const first = "index.cjs";
  const answers = ["results.cjs", "reply.cjs"];
  const work = ["messages.cjs", "compressor.cjs", "transport.cjs", "drive.cjs", "router.cjs"];
  const parts = ["native.cjs", "errors.cjs", ...answers, ...work, first];
  const wrapped = parts.map((part) => {
    const source = readFileSync(join(folder, part), "utf8");
    return `parts["./${part}"] = (module, require) => {\n${source}\nreturn module.exports;\n};\n`;
  });
  const load =
    "const made = {};\n" +
    "const load = (name) => (made[name] ??= parts[name]({ exports: {} }, (n) => (n in parts ? load(n) : require(n))));\n";
  const given = `module.exports = load("./${first}");\nmodule.exports[Symbol.for("omniroute.parts")] = made;\n`;
  writeFileSync(join(folder, first), `"use strict";\nconst parts = {};\n${wrapped.join("")}${load}${given}`);
  for (const part of parts.filter((part) => part !== first)) {
    const same = `require("./${first}")[Symbol.for("omniroute.parts")]["./${part}"]`;
    writeFileSync(join(folder, part), `"use strict";\nmodule.exports = ${same};\n`);
  }
}

function platformManifest() {
  return {
    name: PLATFORM,
    version: MAIN.version,
    description: `The native module of ${MAIN.name} for ${process.platform}-${process.arch}.`,
    license: MAIN.license,
    os: [process.platform],
    cpu: [process.arch],
    ...(LIBC === "" ? {} : { libc: ["glibc"] }),
    main: "omniroute.node",
    files: ["omniroute.node", "LICENSE"],
    engines: MAIN.engines,
  };
}

/** Builds the native module and gives its path. */
function library(profile, features) {
  const release = profile === "release" ? ["--release"] : [];
  const strip = profile === "release" ? ["--", "-C", "strip=symbols"] : [];
  const extra = features.length > 0 ? ["--features", features.join(",")] : [];
  const words = ["rustc", "-q", "-p", "omniroute-node", "--lib", ...release, ...extra, ...strip];
  run(process.env.CARGO ?? "cargo", words, ROOT);
  return join(BUILT, profile === "release" ? "release" : "debug", LIBRARY[process.platform]);
}

/** A folder with what `requirements/NAME` asks for and the package in it; tests and examples are copied beside. */
function environment(name, built) {
  const folder = join(TARGET, name);
  const asked = join(HERE, "requirements", name);
  if (existsSync(asked)) modules(folder, asked);
  else rmSync(folder, { recursive: true, force: true });
  for (const [packageName, tarball] of [[MAIN.name, built.main], [PLATFORM, built.platform]]) {
    const place = join(folder, "node_modules", packageName);
    rmSync(place, { recursive: true, force: true });
    mkdirSync(place, { recursive: true });
    run("tar", ["-xzf", tarball, "--strip-components=1", "-C", place], folder);
  }
  for (const part of ["tests", "examples", "README.md"]) copy(part, HERE, folder);
  copy("scenarios", join(ROOT, "bindings"), folder);
  copy("embed-node.md", join(ROOT, "docs", "src"), folder);
  return folder;
}

/** What the lock file of `asked` names, in `folder`; made again when it changes. */
function modules(folder, asked) {
  const files = ["package.json", "package-lock.json", ".npmrc"];
  const stamp = createHash("sha256").update(process.version);
  for (const file of files) stamp.update(readFileSync(join(asked, file)));
  const mark = join(folder, "made-from");
  const wanted = stamp.digest("hex");
  if (existsSync(mark) && readFileSync(mark, "utf8") === wanted) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const file of files) copy(file, asked, folder);
  npm(["ci", "--ignore-scripts"], folder);
  writeFileSync(mark, wanted);
}

/** Files with tests, of one adapter if it is named: `NAME.test.mjs`, `NAME-routed.test.mjs`. */
function tests(folder, part, adapter = "") {
  const fits = (name) => adapter === "" || [`${adapter}.test.mjs`, `${adapter}-routed.test.mjs`].includes(name);
  const names = readdirSync(join(folder, part)).filter((name) => name.endsWith(".test.mjs") && fits(name));
  return names.map((name) => join(part, name));
}

/** Checks the typed examples of an environment with the compiler of another one. What it makes of them is run, that of an
 * adapter by its tests. */
function typecheck(compiler, folder, adapter) {
  const own = [`${adapter}.mts`, `${adapter}-routed.mts`].filter((name) => existsSync(join(folder, "examples", name)));
  const examples = adapter === undefined ? ["typed.mts", "typed-require.cts"] : own;
  // The declarations of frameworks are theirs to keep in order.
  const strict = ["--strict", adapter === undefined ? "--exactOptionalPropertyTypes" : "--skipLibCheck"];
  const options = [...strict, "--outDir", "typed", "--module", "nodenext", "--target", "es2023"];
  const types = ["--types", "node", "--typeRoots", join(compiler, "node_modules", "@types")];
  const tsc = join(compiler, "node_modules", "typescript", "bin", "tsc");
  run(process.execPath, [tsc, ...options, ...types, ...examples.map((name) => join("examples", name))], folder);
  if (adapter !== undefined) return;
  for (const name of ["typed.mjs", "typed-require.cjs"]) run(process.execPath, [join("typed", name)], folder);
}

/** A file or folder in the place of what has its name there. */
function copy(name, from, to) {
  rmSync(join(to, name), { recursive: true, force: true });
  cpSync(join(from, name), join(to, name), { recursive: true });
}

function npm(words, cwd, stdout = "inherit") {
  run("npm", [...words, "--no-audit", "--no-fund", "--no-update-notifier"], cwd, stdout);
}

function run(command, words, cwd, stdout = "inherit") {
  const shell = process.platform === "win32" && command === "npm";
  const ended = spawnSync(command, words, { cwd, stdio: ["ignore", stdout, "inherit"], shell });
  if (ended.status === 0) return;
  const shown = [command, ...words].map((word) => (word.includes(sep) ? basename(word) : word)).join(" ");
  throw new Failed(`${shown}${ended.error ? `: ${ended.error.message}` : ""}`);
}

class Failed extends Error {}

const [name, ...rest] = process.argv.slice(2);
if (rest.length > 0 || !Object.hasOwn(TASKS, name ?? "")) {
  console.error(`usage: tasks.mjs ${Object.keys(TASKS).join(" | ")}`);
  process.exit(2);
}
try {
  TASKS[name]();
} catch (error) {
  if (!(error instanceof Failed)) throw error;
  console.error(`failed: ${error.message}`);
  process.exit(1);
}
