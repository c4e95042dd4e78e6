// What type checkers see; run as well, as JavaScript.

import {
  compress,
  compressMessagesSync,
  compressSync,
  Compressor,
  ConfigError,
  OmnirouteError,
  Router,
  type CompressionConfig,
  type CompressOptions,
  type Provider,
  type Receipt,
  type RouteEvent,
  type RouteReceipt,
  type Stats,
  type Strategy,
} from "omniroute-native";

const config: CompressionConfig = {
  plan: "tables",
  combos: [{ name: "tables", steps: ["rows", { engine: "session-dedup", config: { min_lines: 4 } }] }],
};
const compressor: Compressor = new Compressor(config);
const options: CompressOptions = { session: "s1" };
const { body, receipt, changed, savedRatio } = await compressor.compress(
  { messages: [{ role: "user", content: "hi" }] },
  { ...options, signal: new AbortController().signal },
);
const bytes: Uint8Array = body;
const seen: Receipt = receipt;
const line: string = seen.summary();
const tokens: number = seen.tokensBefore + seen.data.tokens_after;
const ratio: number = changed ? savedRatio : 0;

interface Message {
  role: "user" | "assistant";
  content: string;
}
const given: Message[] = [{ role: "user", content: "hi" }];
const sent: Message[] = compressMessagesSync(given).messages;
const stats: Stats = compressor.stats();
console.log(bytes.byteLength, line, tokens, ratio, sent.length, stats.calls);

try {
  new Compressor({ plan: "saef" });
} catch (error) {
  if (error instanceof ConfigError) console.log(error.errors.join("; "), error.code);
}
try {
  compressSync("{}", { wire: "soap" });
} catch (error) {
  if (error instanceof OmnirouteError) console.log(error.code, error.message, error.retryAt?.toISOString());
}

// @ts-expect-error there is no such option
void compress("{}", { sesion: "s1" }).catch(() => undefined);
// @ts-expect-error a body is not a number
void compress(3).catch(() => undefined);

const own: Provider = { id: "own", chat: async (request, { signal }) => `${request.model} ${signal.aborted}` };
const first: Strategy = { id: "first", plan: (_, candidates) => candidates.slice(0, 1) };
const combos = [{ name: "daily", strategy: "first", steps: ["own/m"] }];
const router = new Router({ combos }, { providers: [own], strategies: [first], seed: 7 });
const ask = { model: "daily", messages: given };
const reply = await router.chat(ask, { signal: new AbortController().signal, session: "s1", timeoutMs: 30_000 });
const told: RouteReceipt = reply.receipt;
const provider: string | undefined = told.provider;
console.log(reply.text, reply.toolCalls.length, reply.usage?.input, provider, String(router.explain(ask)).length);
const stream = router.stream(ask);
for await (const event of stream) {
  const one: RouteEvent = event;
  if (one.type === "text") console.log(one.text);
  // @ts-expect-error a usage has no text
  if (one.type === "usage") console.log(one.text);
}
const response: Response = await router.fetch("/v1/models");
const web: ReadableStream<Uint8Array> = router.stream(ask).toReadableStream();
await web.cancel();
console.log(response.status);
await router[Symbol.asyncDispose]();

// @ts-expect-error there is no such option
void (() => new Router({}, { transport: 3 }));
// @ts-expect-error a strategy plans at once
const late: Strategy = { id: "late", plan: async () => [] };
void late;
