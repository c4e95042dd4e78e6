// What goes in comes out as the same thing, shorter.

import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";

import * as om from "omniroute-native";
import { chat, source } from "./given.mjs";

const request = () => ({ model: "gpt-5", messages: chat() });
const bytes = () => Buffer.from(JSON.stringify(request()));

test("bytes in, bytes out", async () => {
  const body = bytes();
  for (const out of [await om.compress(body), om.compressSync(body)]) {
    const { body: sent, receipt, changed } = out;
    assert(changed && sent instanceof Uint8Array && sent.byteLength < body.byteLength);
    assert(receipt.applied && receipt.tokensAfter < receipt.tokensBefore && receipt.data.applied);
    assert(out.savedRatio > 0 && out.savedRatio < 1);
    assert.deepEqual(JSON.parse(Buffer.from(sent).toString()), out.json());
    assert.deepEqual(JSON.parse(out.text), out.json());
    assert.equal(out.body, sent);
    assert.equal(out.json(), out.json());
  }
  assert.deepEqual(body, bytes());
});

test("what does not change comes back as it is", async () => {
  const quiet = Buffer.from('{"messages": [{"role": "user", "content": "hi"}]}');
  assert.equal((await om.compress(quiet)).body, quiet);
  assert.equal(om.compressSync(quiet).body, quiet);
  const unreadable = new Uint8Array([123]);
  const out = om.compressSync(unreadable);
  assert.equal(out.body, unreadable);
  assert.equal(out.receipt.data.skipped.code, "unparseable");
  const given = { messages: [{ role: "user", content: "hi" }] };
  assert.equal(om.compressSync(given).json(), given);
  assert.equal(om.compressSync(given).text, JSON.stringify(given));
  assert.equal(Buffer.from(om.compressSync(given).body).toString(), JSON.stringify(given));
});

test("every form of a body gives the same", async () => {
  const body = bytes();
  const expected = om.compressSync(body).json();
  const buffer = body.buffer.slice(body.byteOffset, body.byteOffset + body.byteLength);
  const forms = [body.toString(), new Uint8Array(body), new DataView(buffer), buffer, request()];
  for (const form of forms) {
    assert.deepEqual(om.compressSync(form).json(), expected);
    assert.deepEqual((await om.compress(form)).json(), expected);
  }
  assert.deepEqual(om.compressSync(chat()).json().messages, expected.messages);
});

test("bytes are copied before the call returns", async () => {
  const body = bytes();
  const work = om.compress(body);
  body.fill(0);
  assert.deepEqual((await work).json(), om.compressSync(bytes()).json());
});

test("messages keep their identity and the input is not touched", async () => {
  const messages = chat();
  for (const out of [await om.compressMessages(messages), om.compressMessagesSync(messages)]) {
    assert.deepEqual(messages, chat());
    assert(out.changed && out.messages !== messages);
    assert.deepEqual(out.messages.map((message, n) => message === messages[n]), [true, true, true, true, false]);
    const { content, ...rest } = out.messages[4];
    const { content: before, ...same } = messages[4];
    assert(content.length < before.length);
    assert.deepEqual(rest, same);
    assert.deepEqual(out.messages, om.compressSync(request()).json().messages);
  }
  const quiet = om.compressMessagesSync(messages.slice(0, 1));
  assert(!quiet.changed && quiet.messages[0] === messages[0]);
});

/** Strings that are hard to write as JSON or to leave out of it, short and long. */
const HARD = ["\0", '"\0', '"\0"', '"\\u0000"', "\\u0000", '\\"\\u0000\\"', "\n\t\u007f\u2028", "caf\u00e9", "\u{1f980}", ""];

/** Whether a list is read as the body that the host's own JSON makes of it. */
function agrees(messages, written = JSON.stringify({ messages })) {
  const whole = om.compressSync(written);
  const list = om.compressMessagesSync(messages);
  assert.deepEqual(list.messages, whole.json().messages);
  const { bytes_before, tokens_after } = list.receipt.data;
  assert.deepEqual([bytes_before, tokens_after], [Buffer.byteLength(written), whole.receipt.tokensAfter]);
}

test("hard strings reach the engine as they are", () => {
  for (const short of HARD) {
    for (const text of [short, short.repeat(200), `${source()}${short}`, `${short}${source()}`]) {
      agrees(chat(text));
      agrees([{ role: "user", content: text, [`k${short}`]: text }]);
    }
  }
  const [before, after] = [chat("\0".repeat(200)), chat("\0".repeat(201))];
  assert.throws(() => agrees(before, JSON.stringify({ messages: after })), assert.AssertionError);
});

test("lists of other wires", () => {
  const input = ["a", "b"].flatMap((id) => [
    { type: "function_call", call_id: id, name: "read", arguments: '{"path": "a.rs"}' },
    { type: "function_call_output", call_id: id, output: source() },
  ]);
  for (const wire of ["openai-responses", "responses"]) {
    const out = om.compressMessagesSync(input, { wire });
    assert.deepEqual(out.messages.map((item, n) => item === input[n]), [true, true, true, false]);
  }
});

test("nested lists are copied on the way only", () => {
  const text = chat()[2].content;
  const block = { type: "text", text: "short" };
  const call = { type: "tool_use", name: "read", input: { path: "a" } };
  const given = [
    { role: "assistant", content: [{ ...call, id: "x" }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "x", content: text }] },
    { role: "assistant", content: [{ ...call, id: "y" }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "y", content: text }, block] },
  ];
  const { messages } = om.compressMessagesSync(given, { wire: "anthropic-messages", system: "be brief", tools: [] });
  assert.equal(messages[1], given[1]);
  assert.notEqual(messages[3], given[3]);
  assert.equal(messages[3].content[1], block);
  assert.equal(given[3].content[0].content, text);
});

class Dumped {
  constructor(fields) {
    Object.defineProperty(this, "hidden", { value: fields, enumerable: false });
  }

  toJSON() {
    return this.hidden;
  }
}

test("objects with toJSON and values that JSON cannot say", () => {
  const messages = chat();
  const image = { type: "image_url", data: new Uint8Array(3) };
  const odd = { role: "user", content: [image], n: 2n };
  const given = [...messages.slice(0, 4), new Dumped(messages[4]), odd, null, "text"];
  const out = om.compressMessagesSync(given);
  assert.deepEqual(out.messages[4], om.compressMessagesSync(messages).messages[4]);
  given.forEach((message, n) => assert.equal(out.messages[n] === message, n !== 4));
  const notes = out.receipt.data.notes.filter((note) => note.code === "kept_object");
  assert.deepEqual(notes.map(({ pointer, action }) => [pointer, action]), [
    ["/messages/5/content/0/data", "an object of type Uint8Array was kept as it is"],
    ["/messages/5/n", "an object of type bigint was kept as it is"],
    ["/messages/6", "an object of type null was kept as it is"],
    ["/messages/7", "an object of type string was kept as it is"],
  ]);
  const plain = om.compressMessagesSync([...messages.slice(0, 4), new Dumped(messages[4])]);
  assert.deepEqual(plain.messages[4], out.messages[4]);
});

test("odd values", async () => {
  const content = 'caf\u00e9 \u{1f980} "quoted" \\ \0';
  const odd = { messages: [{ role: "user", content }], n: [1, -2, 1e300, 1.5, true, null], empty: {}, gone: undefined };
  assert.deepEqual(om.compressSync(odd, { plan: "off" }).text, JSON.stringify(odd));
  const loop = { messages: [] };
  loop.messages.push(loop);
  const lone = "\ud800";
  for (const [act, rule] of [
    [() => om.compressSync(loop), /the body cannot be written as JSON: Converting circular/],
    [() => om.compressMessagesSync(loop.messages), /nested more than 120 levels/],
    [() => om.compressSync({ messages: [], n: 1n }), /the body cannot be written as JSON/],
    [() => om.compressSync(`{"messages": "${lone}"}`), /the body holds a lone surrogate/],
    [() => om.compressTextSync(lone), /the text holds a lone surrogate/],
    [() => om.compressSync(3), /a body is bytes, a string, an object or a list of messages, not number/],
    [() => om.compressSync(null), /not null/],
    [() => om.compressMessagesSync({}), /messages: expected an array, not Object/],
    [() => om.compressTextSync(3), /text: expected a string, not number/],
    [() => om.compressSync("{}", { wire: 3 }), /wire: expected a string, not number/],
    [() => om.compressMessagesSync([], { tools: {} }), /tools: expected an array, not Object/],
    [() => om.compressSync("{}", { sesion: "x" }), /options: sesion is not known; there are wire, plan, model, session/],
    [() => om.compressSync("{}", { signal: AbortSignal.abort() }), /signal is not known/],
    [() => new om.Compressor(3), /config: expected a path or an object, not number/],
  ]) {
    assert.throws(act, (error) => error instanceof om.RequestError && rule.test(error.message));
    assert.throws(act, { code: "bad_argument" });
  }
  await assert.rejects(om.compress("{}", { signal: 3 }), /signal: expected an AbortSignal, not number/);
  const kept = [{ role: "user", content: lone }];
  assert.equal(om.compressMessagesSync(kept).messages[0], kept[0]);
});

test("text", async () => {
  const cases = Array.from({ length: 60 }, (_, n) => `test store::case_${n} ... ok\n`).join("");
  const end = "test result: ok. 60 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\n";
  const printed = `running 60 tests\n${cases}\n${end}`;
  const what = { kind: "tool_output", command: "cargo test", exitCode: 0 };
  for (const out of [await om.compressText(printed, what), om.compressTextSync(printed, what)]) {
    assert(out.changed && out.text.includes("60 passed") && `${out}`.length * 4 < printed.length);
  }
  const same = om.compressTextSync("hi");
  assert(same.text === "hi" && !same.changed);
  assert.throws(() => om.compressTextSync("hi", { kind: "poem" }), { code: "bad_argument" });
});

test("configuration", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "omniroute-")), "omniroute.toml");
  writeFileSync(file, '[compression]\nplan = "lite"\n');
  const configs = [file, pathToFileURL(file), { plan: "lite" }, { mode: "lite" }, { compression: { plan: "lite" } }];
  for (const config of configs) assert.equal(new om.Compressor(config).plan, "lite");
  const compressor = new om.Compressor();
  assert.equal(compressor.plan, "safe");
  const body = bytes();
  assert(compressor.compressSync(body).changed);
  assert.equal(compressor.previewSync(body).receipt.data.memo.hits, 0);
  assert.equal((await compressor.preview(body)).receipt.data.memo.hits, 0);
  assert((await compressor.compress(body)).receipt.data.memo.hits > 0);
  assert.equal(compressor.stats().calls, 2);
  assert(!compressor.compressSync(body, { plan: "off" }).changed);
});

test("what a session costs", async () => {
  const compressor = new om.Compressor();
  const cost = async () => (await compressor.compress(bytes(), { session: "s" })).receipt.data.engine_bytes;
  assert((await cost()) > 0);
  assert.equal(await cost(), 0);
});

test("receipts are decoded when looked into and show no text", () => {
  const out = om.compressSync(bytes());
  assert.equal(out.receipt.data, out.receipt.data);
  assert.deepEqual(JSON.parse(JSON.stringify(out.receipt)), out.receipt.data);
  const objects = [out, out.receipt, om.compressMessagesSync(chat()), om.compressTextSync("quantity")];
  for (const shown of [...objects.map((object) => inspect(object)), JSON.stringify(out.receipt)]) {
    assert(shown.includes("safe") && !shown.includes("quantity"), shown);
  }
});
