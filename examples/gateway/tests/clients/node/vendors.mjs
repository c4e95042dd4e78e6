// Vendors that answer with what real ones have said, and a gateway in front of them.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const DATA = join(process.env.OMNIROUTE_DATA ?? join(process.env.OMNIROUTE_ROOT ?? ".", "..", "shared", "data"), "exchanges");

/** Whether the recordings are here. */
export const HERE = existsSync(DATA);
if (!HERE && process.env.CI) throw new Error("recordings are missing");

/** Files of recordings and end of the path, by wire. */
export const WIRES = {
  "openai-chat": [["openai", "groq", "deepseek"], "/chat/completions"],
  "openai-responses": [["openai", "xai"], "/responses"],
  "anthropic-messages": [["anthropic"], "/messages"],
  gemini: [["gemini"], "enerateContent"],
};

function recordings(wire) {
  const [files, path] = WIRES[wire];
  const lines = files.flatMap((file) => readFileSync(join(DATA, `${file}.jsonl`), "utf8").split("\n").filter(Boolean));
  return lines.map((line) => JSON.parse(line)).filter((one) => {
    const { status, body } = one.response;
    return one.request.path.endsWith(path) && status === 200 && body;
  });
}

/** Data of server-sent events, read as simply as can be: the tests do not use our own reader. */
function events(body) {
  const lines = body.split(/\r?\n/).filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim());
  return lines.filter((line) => line && line !== "[DONE]").map((line) => JSON.parse(line));
}

/** Text and calls of a whole reply. */
function whole(wire, reply) {
  const args = (text) => JSON.parse(text || "{}");
  if (wire === "openai-chat") {
    const { content, tool_calls: calls } = reply.choices[0].message;
    return [content ?? "", (calls ?? []).map((call) => [call.function.name, args(call.function.arguments)])];
  }
  if (wire === "openai-responses") {
    const parts = reply.output.filter((item) => item.type === "message").flatMap((item) => item.content);
    const calls = reply.output.filter((item) => item.type === "function_call");
    return [parts.map((part) => part.text ?? "").join(""), calls.map((call) => [call.name, args(call.arguments)])];
  }
  if (wire === "anthropic-messages") {
    const of = (type) => reply.content.filter((block) => block.type === type);
    return [of("text").map((block) => block.text).join(""), of("tool_use").map((block) => [block.name, block.input])];
  }
  const parts = reply.candidates[0].content.parts ?? [];
  const calls = parts.filter((part) => part.functionCall).map(({ functionCall: call }) => [call.name, call.args ?? {}]);
  return [parts.filter((part) => !part.thought).map((part) => part.text ?? "").join(""), calls];
}

/** Text and calls of a streamed one. */
function streamed(wire, body) {
  let text = "";
  const calls = new Map();
  const call = (index) => calls.get(index) ?? calls.set(index, ["", ""]).get(index);
  for (const event of events(body)) {
    if (wire === "openai-chat") {
      const delta = event.choices?.[0]?.delta ?? {};
      text += delta.content ?? "";
      for (const part of delta.tool_calls ?? []) {
        const known = call(part.index ?? 0);
        known[0] += part.function?.name ?? "";
        known[1] += part.function?.arguments ?? "";
      }
    } else if (wire === "openai-responses") {
      if (event.type === "response.completed") return whole(wire, event.response);
    } else if (wire === "anthropic-messages") {
      if (event.type === "content_block_start" && event.content_block.type === "tool_use") call(event.index)[0] = event.content_block.name;
      if (event.delta?.type === "text_delta") text += event.delta.text;
      // Tools of the vendor's own are called by nobody else.
      if (event.delta?.type === "input_json_delta" && calls.has(event.index)) call(event.index)[1] += event.delta.partial_json;
    } else if (event.candidates?.length) {
      const [said, called] = whole(wire, event);
      text += said;
      for (const [name, input] of called) calls.set(calls.size, [name, JSON.stringify(input)]);
    }
  }
  return [text, [...calls.values()].map(([name, input]) => [name, JSON.parse(input || "{}")])];
}

/** A few recordings of each kind: wire, name, body, whether streamed, text, calls. */
export function cases(each) {
  if (!HERE) return [];
  const found = [];
  for (const wire of Object.keys(WIRES)) {
    const kinds = new Map();
    for (const one of recordings(wire)) {
      const { body } = one.response;
      const isStream = !body.startsWith("{");
      let said;
      try {
        said = isStream ? streamed(wire, body) : whole(wire, JSON.parse(body));
      } catch {
        continue;
      }
      const [text, calls] = said;
      const kind = [isStream, calls.length > 0, text !== ""].join();
      if ((!text && calls.length === 0) || (kinds.get(kind) ?? 0) >= each) continue;
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      found.push({ wire, name: one.name, body, isStream, text, calls });
    }
  }
  return found;
}

/** One server for all wires: what it says next is set by the test. */
export class Vendors {
  heard = [];
  next = [];

  async open() {
    this.server = http.createServer(async (request, response) => {
      const pieces = [];
      for await (const piece of request) pieces.push(piece);
      this.heard.push({ path: request.url, headers: request.headers, body: Buffer.concat(pieces).toString() });
      const { status, headers, body } = this.next.shift() ?? { status: 500, headers: {}, body: '{"error":{"message":"nothing to say"}}' };
      const type = /^\s*[{[]/.test(body) ? "application/json" : "text/event-stream";
      response.writeHead(status, { "content-type": type, ...headers }).end(body);
    });
    await new Promise((done) => this.server.listen(0, "127.0.0.1", done));
    return this;
  }

  say(body, status = 200, headers = {}) {
    this.next.push({ status, headers, body });
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** The built program over these vendors, one provider for each wire; `more` is added to its configuration. */
export class Gateway {
  async open(vendors, more = "") {
    this.folder = mkdtempSync(join(tmpdir(), "gateway-"));
    const lines = ['[store]\nkind = "memory"\n', more];
    for (const wire of Object.keys(WIRES)) {
      const base = `http://127.0.0.1:${vendors.server.address().port}/${wire === "gemini" ? "v1beta" : "v1"}`;
      lines.push(`[[providers]]\nid = "${wire}"\nwire = "${wire}"\nbase_url = "${base}"\n`);
      lines.push(`[[connections]]\nid = "${wire}/a"\nkey = { env = "MOCK_KEY" }\n`);
    }
    const config = join(this.folder, "omniroute.toml");
    writeFileSync(config, lines.join(""));
    this.process = spawn(process.env.OMNIROUTE_BIN, ["serve", "--config", config, "--listen", "127.0.0.1:0"], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...process.env, MOCK_KEY: "sk-mock" },
    });
    this.ended = new Promise((done) => this.process.on("exit", done));
    this.url = await new Promise((found, failed) => {
      const told = [];
      createInterface(this.process.stderr).on("line", (line) => {
        told.push(line);
        const [, url] = line.split("listens on ");
        if (url) found(url.trim());
      });
      this.process.on("exit", () => failed(new Error(`the gateway ended: ${told.join("\n")}`)));
    });
    return this;
  }

  async close() {
    this.process.kill("SIGTERM");
    assert.equal(await this.ended, 0);
    rmSync(this.folder, { recursive: true });
  }
}
