// A router of the process, whose vendors are a script.

import { Router } from "omniroute-native";
import { Script } from "omniroute-native/testing";

import { pieces, scripted, whole } from "../vendor.mjs";

export const CALL = { id: "call_1", type: "function", function: { name: "read", arguments: '{"path":"a.rs"}' } };

/** Asks the vendors of a script; model `all`. */
export function router(...replies) {
  const script = new Script(replies);
  return { script, router: new Router(scripted(), { fetch: script.fetch }) };
}

export const says = (text) => ({ body: whole(text) });
export const streams = (text) => ({ pieces: pieces(text) });
export const calls = () => ({ body: whole(null, { tool_calls: [CALL] }) });
export const busy = { status: 429, body: { error: { message: "slow down", code: "rate_limit_exceeded" } } };

/** A router whose vendor never answers; `asked` settles with the first request. */
export function silent() {
  let tell;
  const asked = new Promise((resolve) => (tell = resolve));
  let gone = 0;
  const fetch = (_, { signal }) => new Promise((_, reject) => {
    signal.addEventListener("abort", () => {
      gone += 1;
      reject(signal.reason);
    });
    tell();
  });
  return { router: new Router(scripted(), { fetch }), asked, gone: () => gone };
}
