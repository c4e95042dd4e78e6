// Vendors on loopback: a real server that answers as it is told and remembers what became of its connections.

import { once } from "node:events";
import { createServer } from "node:http";

export const ASK = { model: "all", messages: [{ role: "user", content: "hello" }] };

/** An answer of OpenAI chat. */
export function whole(content, more = {}) {
  const message = { role: "assistant", content, ...more };
  const choice = { index: 0, message, finish_reason: "tool_calls" in more ? "tool_calls" : "stop" };
  const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };
  return { id: "chat-1", object: "chat.completion", created: 1, model: "m", choices: [choice], usage };
}

/** A piece of a stream of OpenAI chat. */
export function chunk(delta, stop = null) {
  const choice = { index: 0, delta, finish_reason: stop };
  const event = { id: "chat-1", object: "chat.completion.chunk", created: 1, model: "m", choices: [choice] };
  return `data: ${JSON.stringify(event)}\n\n`;
}

/** Pieces of a streamed answer that says `text`. */
export function pieces(text) {
  const words = text.split(" ").map((content) => chunk({ content }));
  return [chunk({ role: "assistant" }), ...words, chunk({}, "stop"), "data: [DONE]\n\n"];
}

/** Always the same text, whole or streamed as it is asked. */
export const says = (text) => (body, response) => {
  response.writeHead(200, { "content-type": body.stream ? "text/event-stream" : "application/json" });
  response.end(body.stream ? pieces(text).join("") : JSON.stringify(whole(text)));
};

export const fails = (status, body) => (_, response) => {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
};

/** Never answers. */
export const hangs = () => undefined;

/** Starts a vendor for the time of a test. `asked` and `gone` settle with the first request and the end of its connection. */
export async function vendor(context, answer) {
  const seen = [];
  let tell;
  const asked = new Promise((resolve) => (tell = resolve));
  let leave;
  const gone = new Promise((resolve) => (leave = resolve));
  const server = createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const body = JSON.parse(Buffer.concat(parts));
    seen.push({ path: request.url, headers: request.headers, body });
    request.socket.once("close", leave);
    tell();
    answer(body, response);
  });
  let connections = 0;
  server.on("connection", () => (connections += 1));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => (server.closeAllConnections(), server.close()));
  const url = `http://127.0.0.1:${server.address().port}/v1`;
  return { seen, asked, gone, url, connections: () => connections };
}

/** Asks the vendors in their order: the model `all`. */
export function config(...urls) {
  const connections = urls.map((url, n) => {
    return { id: `vendor${n}/test`, key: `key-number-${n}`, base_url: url, wire: "openai-chat" };
  });
  const combos = [{ name: "all", strategy: "priority", steps: urls.map((_, n) => `vendor${n}/m`) }];
  return { connections, combos, routing: { same_target_retries: 0 } };
}

/** The same with vendors that are a script. */
export function scripted(count = 1) {
  return config(...Array.from({ length: count }, (_, n) => `https://vendor${n}.example/v1`));
}
