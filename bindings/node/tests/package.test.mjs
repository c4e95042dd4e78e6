// The package as it is installed: what it exports and declares, its files, its loader, its README.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL("..", import.meta.url));
const INSTALLED = join(HERE, "node_modules");
const require = createRequire(import.meta.url);
const manifest = require("omniroute-native/package.json");
const [[PLATFORM, VERSION]] = Object.entries(manifest.optionalDependencies);

/** Names that the declarations say and the module has not, or the other way round. */
function differing(declarations, module) {
  const said = [...declarations.matchAll(/^export (?:class|function|const) (\w+)/gm)].map((match) => match[1]);
  const names = new Set([...said, ...Object.keys(module)]);
  return [...names].filter((name) => !said.includes(name) || !Object.hasOwn(module, name));
}

for (const entry of ["index", "openai", "ai-sdk", "testing"]) {
  test(`declarations of ${entry} say what is exported, in both module systems`, async () => {
    const name = entry === "index" ? "omniroute-native" : `omniroute-native/${entry}`;
    const declarations = readFileSync(join(INSTALLED, "omniroute-native", "lib", `${entry}.d.ts`), "utf8");
    for (const module of [require(name), await import(name)]) {
      assert.deepEqual(differing(declarations, module), []);
      assert.deepEqual(differing(declarations, { ...module, extra: 1 }), ["extra"]);
    }
    assert.notDeepEqual(differing(declarations.replace(/^export (function|class) /m, "$1 "), require(name)), []);
  });
}

test("both packages hold what they need and nothing else", () => {
  const files = (name) => readdirSync(join(INSTALLED, name), { recursive: true }).map(String).sort();
  assert.deepEqual(files(PLATFORM), ["LICENSE", "README.md", "omniroute.node", "package.json"]);
  const main = files("omniroute-native");
  assert.deepEqual(main.filter((name) => !name.startsWith("lib")), ["LICENSE", "README.md", "package.json"]);
  assert(main.every((name) => !/\btests?\b/.test(name) && !name.endsWith(".node")), main.join());
});

test("versions are the same everywhere", () => {
  const platform = require(`${PLATFORM}/package.json`);
  const { version } = require("omniroute-native");
  assert.deepEqual([VERSION, platform.version, version], [manifest.version, manifest.version, manifest.version]);
  assert.deepEqual([platform.os, platform.cpu, platform.libc], [["linux"], ["x64"], ["glibc"]]);
  assert(manifest.scripts === undefined && platform.scripts === undefined);
});

/** Loads a copy of the main package that stands alone. */
function alone(environment = {}, change = "") {
  const folder = mkdtempSync(join(tmpdir(), "omniroute-"));
  cpSync(join(INSTALLED, "omniroute-native"), folder, { recursive: true });
  const code = `${change}
    try { console.log(require(${JSON.stringify(folder)}).version); } catch (error) { console.log(error.message); }`;
  const env = { ...process.env, ...environment };
  const { stdout, stderr } = spawnSync(process.execPath, ["-e", code], { encoding: "utf8", env });
  assert.equal(stderr, "");
  return stdout.trim();
}

test("a missing native module is said with what to do", () => {
  assert.equal(
    alone(),
    `omniroute-native: no native binding for linux-x64 (glibc): install ${PLATFORM}@${VERSION}, ` +
      "or reinstall without --omit=optional",
  );
  const musl = "process.report.getReport = () => ({ header: {} });";
  assert.match(alone({}, musl), /for linux-x64 \(musl\): there is none for this platform, only omniroute-native-linux/);
  const other = 'Object.defineProperty(process, "arch", { value: "riscv64" });';
  assert.match(alone({}, other), /for linux-riscv64 \(glibc\): there is none for this platform/);
});

test("the native module can be named, and one that cannot be loaded is said", () => {
  const file = require.resolve(PLATFORM);
  assert.equal(alone({ OMNIROUTE_NATIVE: file }), manifest.version);
  const folder = mkdtempSync(join(tmpdir(), "omniroute-"));
  cpSync(join(INSTALLED, "omniroute-native"), folder, { recursive: true });
  cpSync(join(folder, "LICENSE"), join(folder, "lib", "omniroute.node"));
  assert.throws(() => require(folder), /it is there but cannot be loaded: .*omniroute\.node/);
});

const SNIPPET = /<!-- (examples\/[a-z.-]+) -->\n```(?:js|ts)\n(.*?)```\n/gs;

function differingSnippets(readme) {
  const snippets = [...readme.matchAll(SNIPPET)];
  return snippets.filter(([, name, code]) => readFileSync(join(HERE, name), "utf8") !== code);
}

test("the snippets of the README are the files in examples", () => {
  const readme = readFileSync(join(HERE, "README.md"), "utf8");
  const count = [...readme.matchAll(SNIPPET)].length;
  assert(count >= 3);
  assert.equal(readme.match(/```(js|ts)/g).length, count);
  assert.deepEqual(differingSnippets(readme), []);
  assert.deepEqual(differingSnippets(readme.replace("omniroute-native\";", "omniroute\";")).length, 1);
  assert(!/npm i(nstall)? omniroute\s/.test(readme));
});

test("the snippets of the guide are the files in examples", () => {
  const guide = readFileSync(join(HERE, "embed-node.md"), "utf8");
  assert.equal([...guide.matchAll(SNIPPET)].length, guide.match(/```(js|ts)/g).length);
  assert.deepEqual(differingSnippets(guide), []);
  assert.equal(differingSnippets(guide.replace("omniroute-native\";", "omniroute\";")).length, 1);
});

/** What the examples print that route. */
const SAYS = {
  "route.mjs": /^you said: hello \| combo "daily": echo.*answered\nyou said: hello\n200 you said: hello\n$/,
  "agent.mjs": /^first: .*\nfirst: .*\nsecond: .*, 2 attempts\n.*\n.*\nThe price was wrong; all tests pass now\.\n$/,
};

for (const name of readdirSync(join(HERE, "examples")).filter((file) => /^(quickstart|session|route|agent)\./.test(file))) {
  test(`examples/${name} runs`, () => {
    const options = { cwd: HERE, encoding: "utf8" };
    const { status, stdout, stderr } = spawnSync(process.execPath, [join("examples", name)], options);
    assert.deepEqual([status, stderr], [0, ""]);
    assert.match(stdout, SAYS[name] ?? /safe: /);
  });
}
