// What type checkers see; run as well, as JavaScript.

import {
  compress,
  compressMessagesSync,
  compressSync,
  Compressor,
  ConfigError,
  OmnirouteError,
  type CompressionConfig,
  type CompressOptions,
  type Receipt,
  type Stats,
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
