// A provider on this machine that answers from a script.

import { createServer } from "node:http";
import { once } from "node:events";

export const ANSWER = {
  id: "c1",
  object: "chat.completion",
  created: 1,
  model: "gpt-5",
  choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "done" } }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

/** Chunks of a streamed answer that says `done`. */
export const EVENTS = [{ content: "do" }, { content: "ne" }].map((delta) => ({
  id: "c1",
  object: "chat.completion.chunk",
  created: 1,
  model: "gpt-5",
  choices: [{ index: 0, delta, finish_reason: null }],
}));

/** An answer that asks for a tool. */
export function calling(id, name, input) {
  const call = { id, type: "function", function: { name, arguments: JSON.stringify(input) } };
  const message = { role: "assistant", content: null, tool_calls: [call] };
  return { ...ANSWER, choices: [{ index: 0, finish_reason: "tool_calls", message }] };
}

/**
 * Starts a provider for the time of a test. It gives the `answers` one after the other, the last one for ever: an object
 * is JSON, an array is a stream, a number is a status, `null` is no answer at all.
 */
export async function provider(context, ...answers) {
  const seen = [];
  const server = createServer(async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const body = Buffer.concat(pieces);
    const said = request.headers["content-length"];
    if (said !== undefined && Number(said) !== body.length) return response.writeHead(400).end("wrong length");
    const gone = once(request.socket, "close");
    const end = { path: request.url, headers: request.headers, body: JSON.parse(body), gone };
    const answer = answers[Math.min(seen.push(end), answers.length) - 1];
    if (answer === null) return undefined;
    if (Array.isArray(answer)) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const events = [...answer.map((event) => JSON.stringify(event)), "[DONE]"];
      return response.end(events.map((data) => `data: ${data}\n\n`).join(""));
    }
    const status = typeof answer === "number" ? answer : 200;
    response.writeHead(status, { "content-type": "application/json" });
    return response.end(JSON.stringify(status === 200 ? answer : { error: { message: "slow down", code: "rate" } }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => (server.closeAllConnections(), server.close()));
  return { seen, url: `http://127.0.0.1:${server.address().port}/v1` };
}

/** Waits until the provider has seen a request. */
export async function arrival(end) {
  while (end.seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  return end.seen[0];
}

/** Whether the second of two equal results in a request of OpenAI's chat is shorter. */
export function shorter({ messages }, source) {
  const texts = messages.filter((message) => message.role === "tool").map((message) => message.content);
  return texts[0] === source && texts[1].length < source.length / 2;
}
