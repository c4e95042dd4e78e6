// The router over real sockets: whole, streamed, falling over, given up, aborted.

import assert from "node:assert/strict";
import { getEventListeners, once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";

import * as om from "omniroute-native";
import { Script } from "omniroute-native/testing";
import { ASK, chunk, config, fails, hangs, says, scripted, vendor, whole } from "./vendor.mjs";
import { large } from "./given.mjs";

const RATE = { error: { message: "slow down", type: "requests", code: "rate_limit_exceeded" } };

test("a whole answer", async (context) => {
  const one = await vendor(context, says("hello back"));
  const router = new om.Router(config(one.url));
  let reply;
  for (let n = 0; n < 3; n += 1) reply = await router.chat(ASK);
  assert.equal(reply.text, "hello back");
  assert.equal(reply.json().choices[0].message.content, "hello back");
  assert.deepEqual(JSON.parse(Buffer.from(reply.body).toString()), reply.json());
  assert.deepEqual(reply.usage, { input: 9, output: 3, cached: 0, reasoning: 0 });
  assert.deepEqual([reply.stop, reply.toolCalls, reply.reasoning], ["stop", [], ""]);
  const { receipt } = reply;
  assert.deepEqual([receipt.provider, receipt.connection, receipt.model], ["vendor0", "test", "m"]);
  assert.deepEqual([receipt.data.finished, receipt.attempts.length], [true, 1]);
  assert.equal(JSON.stringify(receipt), JSON.stringify(JSON.parse(receipt.text)));
  assert.equal(router.feedback(reply, 1), true);
  assert.equal(router.feedback("nobody-knows", 1), false);
  assert.equal(router.health().requests, 3);
  assert(router.models().includes("all"));
  const why = router.explain(ASK);
  assert.match(String(why), /vendor0\/test\/m/);
  assert.equal(why.data.picks.length, 1);
  assert(one.connections() < 3); // kept, as the host's own fetch keeps them
  const { path, headers, body } = one.seen[0];
  assert.deepEqual([path, headers.authorization, body.model], ["/v1/chat/completions", "Bearer key-number-0", "m"]);
  assert(!inspect(router).includes("key-number") && !inspect(reply).includes("hello"));
});

test("every form of a body, and what was given stays", async (context) => {
  const one = await vendor(context, says("hello"));
  const router = new om.Router(config(one.url));
  const bytes = Buffer.from(JSON.stringify(ASK));
  for (const body of [ASK, JSON.stringify(ASK), bytes, new Uint8Array(bytes)]) {
    assert.equal((await router.chat(body)).text, "hello");
  }
  const call = router.chat(bytes);
  bytes.fill(0); // copied before the call returns
  assert.equal((await call).text, "hello");
  assert.equal((await router.chat(ASK.messages, { model: "all" })).text, "hello");
  assert.deepEqual(new Set(one.seen.map(({ body }) => body.messages[0].content)), new Set(["hello"]));
});

test("a stream comes as events and as bytes", async (context) => {
  const one = await vendor(context, says("hello back"));
  const router = new om.Router(config(one.url));
  const stream = router.stream(ASK);
  assert.equal(stream.receipt, undefined);
  const events = [];
  for await (const event of stream) events.push(event);
  assert.deepEqual(events.filter(({ type }) => type === "text").map(({ text }) => text), ["hello", "back"]);
  assert(events.some(({ type, reason }) => type === "stop" && reason === "stop"));
  assert.deepEqual([stream.receipt.data.finished, stream.receipt.data.streamed, stream.wire], [true, true, "openai-chat"]);
  const pieces = [];
  for await (const piece of router.stream(ASK).raw()) pieces.push(piece);
  const raw = Buffer.concat(pieces).toString();
  assert(raw.endsWith("data: [DONE]\n\n") && raw.includes("back"));
  assert.equal(await new Response(router.stream(ASK).toReadableStream()).text(), raw);
  const again = router.stream(ASK);
  again.raw();
  assert.throws(() => again.toReadableStream(), /read once/);
});

test("the next answers when the first is busy", async (context) => {
  const one = await vendor(context, fails(429, RATE));
  const two = await vendor(context, says("second"));
  const reply = await new om.Router(config(one.url, two.url)).chat(ASK);
  assert.deepEqual([reply.text, reply.receipt.provider], ["second", "vendor1"]);
  assert.deepEqual(reply.receipt.attempts.map(({ kind }) => kind), ["rate_limited", undefined]);
});

const ERRORS = [
  [401, { error: { message: "bad key", code: "invalid_api_key" } }, om.AuthenticationError],
  [429, RATE, om.RateLimited],
  [503, { error: { message: "down" } }, om.Unavailable],
  [400, { error: { message: "no", type: "invalid_request_error" } }, om.RequestError],
];

for (const [status, body, Kind] of ERRORS) {
  test(`${status} has its class`, async (context) => {
    const one = await vendor(context, fails(status, body));
    const error = await new om.Router(config(one.url)).chat(ASK).catch((caught) => caught);
    assert(error instanceof Kind && error instanceof om.OmnirouteError, inspect(error));
    assert(error.receipt.attempts.length >= 1 && !error.message.includes("\n"));
    assert(!inspect(error).includes("key-number"));
  });
}

test("nobody listens: the cause is told, the key is not", async () => {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  const refused = new om.Router(config(`http://127.0.0.1:${port}/v1`));
  const error = await refused.chat(ASK).catch((caught) => caught);
  assert(error instanceof om.Unavailable && error.cause instanceof Error, inspect(error));
  assert.equal(error.receipt.data.attempts[0].rule, "net.connect");
  for (const words of [(value) => value, (value) => value.split(" ").at(-1)]) {
    const said = (headers) => headers.map(([, value]) => words(value)).join();
    const fetch = (_, { headers }) => Promise.reject(new TypeError(`bad header ${said(headers)}`));
    const shown = await new om.Router(scripted(), { fetch }).chat(ASK).catch((caught) => caught);
    assert(!inspect(shown).includes("key-number") && shown.cause === undefined, inspect(shown));
  }
});

test("nobody and nonsense", async (context) => {
  const one = await vendor(context, says("x"));
  const router = new om.Router(config(one.url));
  await assert.rejects(router.chat({ ...ASK, model: "nobody/knows" }), om.NoCandidate);
  for (const body of ["[]", "{", 3, null]) await assert.rejects(router.chat(body), om.RequestError);
  await assert.rejects(router.chat(ASK, { timeoutMs: -1 }), /timeoutMs is -1/);
  await assert.rejects(router.chat(ASK, { sesion: "s" }), /sesion is not known/);
  assert.throws(() => router.stream(ASK, { tags: [1] }), /tags: expected strings/);
  assert.throws(() => new om.Router({}, { seed: -1 }), /seed/);
  await assert.rejects((async () => { for await (const _ of router.stream("{")); })(), om.RequestError);
  await router.close();
  await assert.rejects(router.chat(ASK), { code: "closed" });
  assert.equal(one.seen.length, 0);
});

test("a configuration in a file and all its mistakes", () => {
  const path = join(mkdtempSync(join(tmpdir(), "omniroute-")), "router.toml");
  writeFileSync(path, '[[connections]]\nid = "openai"\nkye = "secret-1"\n[routing]\nmax_attempts = 99\n');
  for (const named of [path, pathToFileURL(path)]) {
    assert.throws(() => new om.Router(named), (error) => {
      return error instanceof om.ConfigError && error.errors.length === 3 && !inspect(error).includes("secret-1");
    });
  }
  writeFileSync(path, '[[connections]]\nid = "openai/x"\nkey = "secret-3"\n');
  assert(new om.Router(path).models().length > 0);
});

test("a signal that is already aborted: nothing is sent", async () => {
  const script = new Script([{ body: whole("x") }]);
  const router = new om.Router(scripted(), { fetch: script.fetch });
  const reason = new Error("mine");
  const signal = AbortSignal.abort(reason);
  await assert.rejects(router.chat(ASK, { signal }), reason);
  assert.throws(() => router.stream(ASK, { signal }), reason);
  await assert.rejects(router.fetch("/v1/chat/completions", { method: "POST", body: JSON.stringify(ASK), signal }), reason);
  assert.equal(script.requests.length, 0);
  assert.equal((await router.chat(ASK)).text, "x");
});

/** Nobody is blamed, nothing stays. */
function clean(router) {
  const { breakers, connections } = router.health().resilience;
  assert.deepEqual(breakers.map((one) => [one.in_flight, one.failures]), breakers.map(() => [0, 0]));
  assert.deepEqual(connections, []);
}

for (const way of ["abort", "timeoutMs", "close", "return"]) {
  test(`giving up by ${way} closes the connection`, async (context) => {
    const one = await vendor(context, hangs);
    const router = new om.Router(config(one.url));
    const control = new AbortController();
    if (way === "return") {
      const events = router.stream(ASK)[Symbol.asyncIterator]();
      const next = events.next();
      await one.asked;
      await events.return();
      assert.deepEqual(await next, { done: true, value: undefined });
    } else {
      const options = way === "timeoutMs" ? { timeoutMs: 300 } : { signal: control.signal };
      const call = router.chat(ASK, options);
      const ended = assert.rejects(call, way === "abort" ? { name: "AbortError" } : om.Cancelled);
      await one.asked;
      if (way === "abort") control.abort();
      if (way === "close") await router.close();
      await ended;
    }
    await one.gone;
    assert.equal(getEventListeners(control.signal, "abort").length, 0);
    if (way !== "close") clean(router);
  });
}

const begins = (_, response) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(chunk({ role: "assistant", content: "one" }));
};

test("leaving a stream closes the connection", async (context) => {
  for (const leave of ["break", "cancel", "abort", "dispose"]) {
    const one = await vendor(context, begins);
    const router = new om.Router(config(one.url));
    const control = new AbortController();
    const stream = router.stream(ASK, { signal: control.signal });
    if (leave === "cancel") {
      const reader = stream.toReadableStream().getReader();
      assert.match(Buffer.from((await reader.read()).value).toString(), /one/);
      await reader.cancel();
    } else if (leave === "dispose") {
      await stream.begin();
      await stream[Symbol.asyncDispose]();
    } else {
      const read = async () => {
        for await (const event of stream) {
          assert.deepEqual(event, { type: "text", text: "one" });
          if (leave === "break") break;
          control.abort();
        }
      };
      if (leave === "break") await read();
      else await assert.rejects(read, { name: "AbortError" });
    }
    await one.gone;
    assert.equal(getEventListeners(control.signal, "abort").length, 0);
  }
});

test("a stream that nobody holds any more is let go", async (context) => {
  const one = await vendor(context, begins);
  const router = new om.Router(config(one.url));
  await (async () => void (await router.stream(ASK).begin()))();
  let over = false;
  void one.gone.then(() => (over = true));
  while (!over) {
    global.gc();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
});

test("a stream that breaks off throws, and the bytes say so", async (context) => {
  const one = await vendor(context, (_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(chunk({ role: "assistant", content: "one" }), () => response.socket.destroy());
  });
  const router = new om.Router(config(one.url));
  const read = async () => {
    for await (const _ of router.stream(ASK));
  };
  await assert.rejects(read, (error) => error instanceof om.Unavailable && error.code === "upstream_interrupted");
  const raw = await new Response(router.stream(ASK).toReadableStream()).text();
  assert(raw.includes("upstream_interrupted") && !raw.includes("[DONE]"));
});

test("a stream that nobody reads holds the vendor back", async () => {
  let sent = 0;
  const pull = (control) => {
    sent += 1;
    control.enqueue(Buffer.from(chunk({ content: `n${sent} ` })));
  };
  const body = () => new ReadableStream({ pull }, { highWaterMark: 0 });
  const fetch = async () => new Response(body(), { headers: { "content-type": "text/event-stream" } });
  const router = new om.Router(scripted(), { fetch });
  const reader = router.stream(ASK).toReadableStream().getReader();
  const quiet = async () => {
    for (let before = -1; before !== sent; ) {
      before = sent;
      for (let n = 0; n < 50; n += 1) await new Promise(setImmediate);
    }
    return sent;
  };
  const ahead = await quiet();
  assert(ahead >= 16 && ahead <= 20, `${ahead} pieces`);
  for (let n = 0; n < 8; n += 1) await reader.read();
  assert.equal(await quiet(), ahead + 8);
  await reader.cancel();
  assert.equal(await quiet(), ahead + 8);
});

test("a large body is compressed while the loop turns", async (context) => {
  const one = await vendor(context, says("fine"));
  const router = new om.Router(config(one.url));
  let turns = 0;
  let done = false;
  const count = () => {
    turns += 1;
    if (!done) setImmediate(count);
  };
  setImmediate(count);
  const reply = await router.chat(large(), { model: "all" });
  done = true;
  const [before, after] = reply.receipt.data.compressed;
  assert(after < before && reply.text === "fine" && turns > 10, `${before} ${after} ${turns}`);
});

const post = (body, more = {}) => ({ method: "POST", body: JSON.stringify(body), ...more });

test("every path is answered in its wire", async (context) => {
  const one = await vendor(context, says("hello back"));
  const router = new om.Router(config(one.url));
  const input = [{ role: "user", content: "hello" }];
  const contents = [{ role: "user", parts: [{ text: "hello" }] }];
  for (const [path, body, text] of [
    ["/v1/chat/completions", ASK, (said) => said.choices[0].message.content],
    ["/v1/messages", { ...ASK, max_tokens: 9 }, (said) => said.content[0].text],
    ["/v1/responses", { model: "all", input }, (said) => said.output.at(-1).content[0].text],
    ["/v1beta/models/all:generateContent", { contents }, (said) => said.candidates[0].content.parts[0].text],
  ]) {
    const response = await router.fetch(`http://omniroute.invalid${path}`, post(body));
    assert.deepEqual([response.status, response.headers.get("content-type")], [200, "application/json"]);
    assert.equal(text(await response.json()), "hello back");
    const isGemini = path.includes("models");
    const streaming = isGemini ? path.replace("generate", "streamGenerate") : path;
    const streamed = await router.fetch(`http://x${streaming}`, post(isGemini ? body : { ...body, stream: true }));
    assert.equal(streamed.headers.get("content-type"), "text/event-stream");
    assert.match(await streamed.text(), /hello.*back/s);
  }
  const asked = new Request("http://x/v1/chat/completions", post(ASK, { headers: { "x-omniroute-tag": "nobody" } }));
  const refused = await router.fetch(asked);
  assert.equal(refused.status >= 400, true);
  assert.equal(typeof (await refused.json()).error.message, "string");
  const plain = new Request("http://x/v1/chat/completions", post(ASK));
  assert.equal((await (await router.fetch(plain)).json()).choices[0].message.content, "hello back");
  const { data } = await (await router.fetch("http://x/v1/models")).json();
  assert(data.some(({ id }) => id === "all"));
  for (const [path, init] of [["/v1/embeddings", post({ model: "m", input: "x" })], ["/v1/chat/completions", {}]]) {
    assert.equal((await router.fetch(path, init)).status, 404);
  }
});

test("leaving the body of a fetched stream closes the connection", async (context) => {
  const one = await vendor(context, begins);
  const router = new om.Router(config(one.url));
  const response = await router.fetch("/v1/chat/completions", post({ ...ASK, stream: true }));
  await response.body.cancel();
  await one.gone;
});
