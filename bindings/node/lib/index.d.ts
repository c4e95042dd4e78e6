/** A request body: JSON text as bytes or string, a request as an object, or just its messages. */
export type Body = string | ArrayBufferView | ArrayBuffer | object | readonly object[];

/** What one call may say besides its body. */
export interface CompressOptions {
  /** The wire of the body, by id or alias, for instance `"anthropic-messages"`; guessed if absent. */
  wire?: string | undefined;
  /** Another plan than the configured one: a plan, an engine, engines with commas between, or a combo. */
  plan?: string | undefined;
  /** The model that counts tokens, if the body does not name it. */
  model?: string | undefined;
  /** The session. What is remembered is kept apart for each. */
  session?: string | undefined;
}

/** What a call on a list of messages may say. */
export interface MessagesOptions extends CompressOptions {
  /** The tools of the request, as they are sent. */
  tools?: readonly object[] | undefined;
  /** The system text of the request, where it is no message. */
  system?: unknown;
}

/** What is known about a single text. */
export interface TextOptions {
  /** What the text is; default and only kind today is `"tool_output"`. */
  kind?: string | undefined;
  /** The command line that printed it. */
  command?: string | undefined;
  /** How the command ended. */
  exitCode?: number | undefined;
  /** Another plan than the configured one. */
  plan?: string | undefined;
  /** The model that counts tokens. */
  model?: string | undefined;
}

/** For calls that can be given up: the promise rejects with the signal's reason, what was made is dropped. */
export interface Abortable {
  signal?: AbortSignal | null | undefined;
}

/** What may stand in the section `[compression]` of a configuration. */
export interface CompressionConfig {
  enabled?: boolean;
  plan?: string;
  mode?: string;
  strict?: boolean;
  max_body_bytes?: number;
  count?: "estimate" | "exact";
  memo?: { entries?: number; bytes?: number; ttl_s?: number };
  engines?: Record<string, Record<string, boolean | number | string>>;
  combos?: { name: string; steps: (string | StepConfig)[] }[];
}

/** One step of a combo. */
export interface StepConfig {
  engine: string;
  level?: string;
  config?: Record<string, boolean | number | string>;
}

/** The whole of a receipt. Fields may be added; none is renamed. */
export interface ReceiptData {
  /** Plan that was asked for. */
  plan: string;
  /** Equal fingerprints give equal output. */
  fingerprint: string;
  /** Wire the body was read as. */
  wire: string;
  /** Whether anything was changed. */
  applied: boolean;
  /** Why nothing was attempted. */
  skipped: { code: string; detail: string } | null;
  tokens_before: number;
  tokens_after: number;
  bytes_before: number;
  bytes_after: number;
  /** How much was known from earlier calls. */
  memo: { hits: number; misses: number };
  /** Bytes of text handed to engines in this call: the measure of work. */
  engine_bytes: number;
  /** Remarks. */
  notes: { code: string; pointer: string; action: string }[];
  [field: string]: unknown;
}

/** What was done to a request, and why the rest was not. Holds no text of the request. */
export class Receipt {
  private constructor();
  /** Whether anything was changed. */
  get applied(): boolean;
  /** Tokens as they came. */
  get tokensBefore(): number;
  /** Tokens as they are sent. */
  get tokensAfter(): number;
  /** Everything, decoded when it is first looked into. */
  get data(): ReceiptData;
  /** One line for people. */
  summary(): string;
  /** As `data`. */
  toJSON(): ReceiptData;
}

/** A body that is ready to be sent, and the record of what was done. */
export class Compressed {
  private constructor();
  /** The body. The very bytes that were given if nothing changed. */
  get body(): Uint8Array<ArrayBuffer>;
  /** The body as text. */
  get text(): string;
  /** The body as objects, decoded once. The very object that was given if nothing changed. */
  json(): any;
  /** Whether the body differs from the one that was given. */
  get changed(): boolean;
  /** Share of the request's tokens that was saved, from 0 to 1. */
  get savedRatio(): number;
  readonly receipt: Receipt;
}

/** A list of messages that is ready to be sent, and the record of what was done. */
export class Messages<M = object> {
  private constructor();
  /** A new list. Messages that did not change are the objects that were given; the others are copies. */
  readonly messages: M[];
  /** Whether any message differs from the one that was given. */
  get changed(): boolean;
  readonly receipt: Receipt;
}

/** A text that is ready to be put into a request, and the record of what was done. */
export class CompressedText {
  private constructor();
  readonly text: string;
  /** Whether the text differs from the one that was given. */
  get changed(): boolean;
  /** Its figures are those of the text alone. */
  readonly receipt: Receipt;
  toString(): string;
}

/** Sums over the calls of a compressor. */
export interface Stats {
  calls: number;
  changed: number;
  skipped: number;
  tokens_before: number;
  tokens_after: number;
  bytes_before: number;
  bytes_after: number;
}

/**
 * Makes requests shorter. Built once for a program or a session; later calls cost only what is new.
 *
 * Promises are worked on by threads of the host's pool from 4 KiB on. A compressor belongs to the thread that made it; workers
 * make their own.
 */
export class Compressor {
  /**
   * @param config the path of a TOML file or an object (`{ plan: "safe" }`); nothing is read unless it is named here.
   * @throws ConfigError with every mistake in `errors`
   */
  constructor(config?: string | URL | CompressionConfig | { compression: CompressionConfig });
  /** Compresses a request body. A body that cannot be read comes back unchanged, the receipt says why. */
  compress(body: Body, options?: CompressOptions & Abortable): Promise<Compressed>;
  compressSync(body: Body, options?: CompressOptions): Compressed;
  /** What `compress` would do with a body it has never seen. Leaves no trace in memory or statistics. */
  preview(body: Body, options?: CompressOptions & Abortable): Promise<Compressed>;
  previewSync(body: Body, options?: CompressOptions): Compressed;
  /**
   * Compresses a list of messages: the same objects where nothing changed, copies where something did. What cannot be
   * read is kept as it is and noted in the receipt. Do not change the messages before the promise settles.
   */
  compressMessages<M extends object>(messages: readonly M[], options?: MessagesOptions & Abortable): Promise<Messages<M>>;
  compressMessagesSync<M extends object>(messages: readonly M[], options?: MessagesOptions): Messages<M>;
  /** Compresses one text that is no request: what `command` printed. */
  compressText(text: string, options?: TextOptions & Abortable): Promise<CompressedText>;
  compressTextSync(text: string, options?: TextOptions): CompressedText;
  /** Sums over the calls so far. */
  stats(): Stats;
  /** The plan of calls that name none. */
  get plan(): string;
}

/** As the method of `Compressor`, once; remembers nothing. In a session build a `Compressor` once. */
export function compress(body: Body, options?: CompressOptions & Abortable): Promise<Compressed>;
/** As the method of `Compressor`, once; remembers nothing. */
export function compressSync(body: Body, options?: CompressOptions): Compressed;
/** As the method of `Compressor`, once; remembers nothing. */
export function compressMessages<M extends object>(
  messages: readonly M[],
  options?: MessagesOptions & Abortable,
): Promise<Messages<M>>;
/** As the method of `Compressor`, once; remembers nothing. */
export function compressMessagesSync<M extends object>(messages: readonly M[], options?: MessagesOptions): Messages<M>;
/** As the method of `Compressor`, once; remembers nothing. */
export function compressText(text: string, options?: TextOptions & Abortable): Promise<CompressedText>;
/** As the method of `Compressor`, once; remembers nothing. */
export function compressTextSync(text: string, options?: TextOptions): CompressedText;

/** What a call of a router may say besides its body. */
export interface AboutRequest {
  /** The wire of the body, by id or alias; guessed if absent. The answer is in the same wire. */
  wire?: string | undefined;
  /** The conversation. */
  session?: string | undefined;
  /** Stands in for the model of the body. */
  model?: string | undefined;
  /** Tags that a step has to carry. */
  tags?: readonly string[] | undefined;
  /** The connection that has to answer, `provider/name`. */
  connection?: string | undefined;
}

export interface CallOptions extends AboutRequest, Abortable {
  /** The plan of compression, by name. */
  plan?: string | undefined;
  /** When you give up, in milliseconds: `Cancelled`. Without it the configuration decides. */
  timeoutMs?: number | undefined;
}

/** Tokens of an answer. `cached` is a part of `input`, `reasoning` one of `output`. */
export interface Usage {
  input: number;
  output: number;
  cached: number;
  reasoning: number;
}

/** A call of a tool. `arguments` is text, mostly JSON. */
export interface ToolCall {
  id: string;
  name: string;
  arguments: string;
}

/** Something that a streamed answer says. A later `usage` replaces an earlier one. */
export type RouteEvent =
  | { type: "text"; text: string }
  | { type: "reasoning"; text: string }
  /** A call begins, with `id` and `name`, or more of its arguments. `index` tells the calls of an answer apart. */
  | { type: "tool_call"; index: number; id?: string; name?: string; arguments: string }
  | ({ type: "usage" } & Usage)
  | { type: "stop"; reason: string };

/** What became of a request: who was asked, why, how long it took, what it cost. Holds no text of requests and no keys. */
export class RouteReceipt {
  private constructor();
  /** Names the request, also for `router.feedback`. */
  get request(): string;
  /** Who answered; undefined if nobody did. */
  get provider(): string | undefined;
  /** Under which connection. */
  get connection(): string | undefined;
  /** With which model, in the provider's words. */
  get model(): string | undefined;
  /** Everybody who was asked. */
  get attempts(): readonly { key: string; kind?: string; status?: number; [field: string]: unknown }[];
  /** US dollars of all attempts whose price is known. */
  get costUsd(): number;
  /** The whole as JSON text. */
  get text(): string;
  /** The whole, decoded when it is first looked into. */
  get data(): any;
  /** One line for people. */
  summary(): string;
  /** As `data`. */
  toJSON(): any;
}

/** Who would be asked, and why: `data` for programs, `toString()` for people. */
export class Explanation {
  private constructor();
  get text(): string;
  get data(): any;
  toString(): string;
  toJSON(): any;
}

/** A whole answer in the wire of the request, whoever gave it. */
export class Reply {
  private constructor();
  /** The answer as bytes. */
  get body(): Uint8Array<ArrayBuffer>;
  /** What was said. */
  get text(): string;
  /** What was thought, as far as the provider tells. */
  get reasoning(): string;
  get toolCalls(): readonly ToolCall[];
  /** Tokens; undefined if the provider does not tell. */
  get usage(): Usage | undefined;
  /** Why it ended: `stop`, `length`, `tool_calls`, `content_filter` and so on. */
  get stop(): string | undefined;
  get receipt(): RouteReceipt;
  /** The body as objects, decoded once. */
  json(): any;
}

/**
 * A streamed answer, read once: as events, with `raw()` or with `toReadableStream()`. Leaving the loop, `return()`,
 * `close()`, or an abort of the signal ends the call and closes its connection.
 */
export class RouteStream implements AsyncIterable<RouteEvent> {
  private constructor();
  /** From the head of the answer on; complete at the end. */
  get receipt(): RouteReceipt | undefined;
  /** The wire of the answer, once it began. */
  get wire(): string | undefined;
  /** Waits until the answer begins; reading does so by itself. */
  begin(): Promise<this>;
  [Symbol.asyncIterator](): AsyncIterableIterator<RouteEvent>;
  /** The answer as bytes, as a client of the wire reads it. An answer that breaks off says so in its last bytes. */
  raw(): AsyncIterableIterator<Uint8Array<ArrayBuffer>>;
  /** The same as a stream of the web. Reads at most 16 pieces ahead. */
  toReadableStream(): ReadableStream<Uint8Array<ArrayBuffer>>;
  /** Ends the call; does nothing after its end. */
  close(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** What a provider of your own is asked: a request of OpenAI chat, with your name of the model. */
export interface ProviderRequest {
  readonly model: string;
  readonly stream: boolean;
  readonly body: Uint8Array;
  json(): any;
  readonly messages: any[];
}

/** Around a call of a provider. */
export interface ProviderContext {
  readonly provider: string;
  readonly model: string;
  readonly stream: boolean;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** A whole answer of a provider. */
export interface ProviderAnswer {
  text?: string;
  toolCalls?: readonly { id: string; name: string; arguments: string | object }[];
  reasoning?: string;
  usage?: Partial<Usage>;
  stop?: string;
}

/** What a provider may give: a text, an answer, a reply of OpenAI chat as object or bytes, or events. */
export type ProviderSaid = string | ProviderAnswer | { choices: object[] } | Uint8Array | AsyncIterable<string | RouteEvent>;

/** A provider of your own: the connection `id/host`, its models are named `id/model`. Called on the thread of the router. */
export interface Provider {
  readonly id: string;
  /** What `auto` may choose; others may be named all the same. */
  readonly models?: readonly string[];
  chat(request: ProviderRequest, context: ProviderContext): ProviderSaid | Promise<ProviderSaid>;
}

/** What a strategy may know of a request. Never its text. */
export interface PlanContext {
  readonly inputTokens: number;
  readonly maxOutput: number | null;
  readonly task: string;
  readonly session: string | null;
  readonly seed: number;
  readonly ticket: number;
  readonly nowMs: number;
}

/** Somebody who could answer. What is not known is null. */
export interface Candidate {
  readonly key: string;
  readonly provider: string;
  readonly connection: string;
  readonly model: string;
  readonly rank: number;
  readonly weight: number;
  readonly tags: readonly string[];
  readonly context: number | null;
  readonly priceIn: number | null;
  readonly priceOut: number | null;
  readonly meanMs: number | null;
  readonly errorRate: number | null;
  readonly quotaLeft: number | null;
  readonly inFlight: number;
}

/** How an attempt ended. */
export interface Outcome {
  readonly key: string;
  /** A code, or null. */
  readonly failed: string | null;
  readonly latencyMs: number;
  readonly firstMs: number | null;
}

/** A strategy of your own, which combos name by its id. Decides at once, on the thread of the router. */
export interface Strategy {
  readonly id: string;
  /** Candidates or their positions, in the order in which they are to be asked. */
  plan(context: PlanContext, candidates: Candidate[]): Iterable<Candidate | number>;
  observe?(outcome: Outcome): void;
}

export interface RouterOptions {
  providers?: readonly Provider[] | undefined;
  strategies?: readonly Strategy[] | undefined;
  /** What sends; default is the host's `fetch`. */
  fetch?: ((url: string, init: any) => Promise<Response>) | undefined;
  /** Where random numbers start, instead of `routing.seed`. */
  seed?: number | undefined;
  /** For tests: a `VirtualClock` of `omniroute-native/testing`. */
  clock?: object | undefined;
}

/**
 * Routes requests to providers, in the process: no server, no port, no thread.
 *
 * Belongs to the thread that made it; workers make their own.
 */
export class Router {
  /**
   * @param config the path of a TOML file, or an object with `connections`, `providers`, `combos`, `models`, `routing`,
   * `compression`. A key is `{ env: "OPENAI_API_KEY" }`, looked up when it is needed, or itself.
   * @throws ConfigError with every mistake in `errors`
   */
  constructor(config: string | URL | object, options?: RouterOptions);
  /** Answers a request: JSON text as bytes or string, an object, or just its messages. */
  chat(body: Body, options?: CallOptions): Promise<Reply>;
  /** The same in pieces. Nothing is sent before it is read. */
  stream(body: Body, options?: CallOptions): RouteStream;
  /** A `fetch` that ends here: for the option `fetch` of SDKs, whose retries are to be off. It needs no `this`. */
  get fetch(): (input: any, init?: any) => Promise<Response>;
  /** Who would be asked, and why. Nothing is sent, nothing is learned. */
  explain(body: Body, options?: AboutRequest): Explanation;
  /** How everything stands: requests so far, connections that rest, breakers that are open. */
  health(): any;
  /** Names that requests may use. */
  models(): string[];
  /** What is odd about the combos but not wrong. */
  warnings(): string[];
  /** How good an answer was, from 0, useless, to 1, perfect. False: nobody remembers the request. */
  feedback(of: Reply | RouteReceipt | string, reward: number, options?: { weight?: number }): boolean;
  /** Admits nothing more, ends calls that are under way with `Cancelled`, closes their connections. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Base of all errors of this package. The message is one line and holds no text of a request. */
export class OmnirouteError extends Error {
  constructor(message: string, facts?: Partial<Omit<OmnirouteError, keyof Error>> & { cause?: unknown });
  /** Stable, for programs. */
  readonly code: string;
  readonly retryAt?: Date | undefined;
  readonly requestId?: string | undefined;
  /** Of a call of a router: who was asked, and why it did not work. */
  readonly receipt?: RouteReceipt | undefined;
  /** Of a call of a router: `status`, `vendorCode`, `hint`. */
  readonly details: Readonly<Record<string, unknown>>;
}
/** The configuration is wrong. */
export class ConfigError extends OmnirouteError {
  /** Every mistake with its place, one line each. */
  get errors(): readonly string[];
}
/** The request or an argument of the call is wrong. */
export class RequestError extends OmnirouteError {}
/** The credential was not accepted or may not do this. */
export class AuthenticationError extends OmnirouteError {}
/** Too many calls; later is fine. */
export class RateLimited extends OmnirouteError {}
/** An allowance or the money is used up. */
export class QuotaExhausted extends OmnirouteError {}
/** No provider could answer. */
export class Unavailable extends OmnirouteError {}
/** No answer in time. */
export class Timeout extends OmnirouteError {}
/** Nothing that is configured can serve the request. */
export class NoCandidate extends OmnirouteError {}
/** The request is longer than the model's context. */
export class ContextTooLong extends OmnirouteError {}
/** Refused by a content filter. */
export class Filtered extends OmnirouteError {}
/** Given up at our own deadline. An aborted call rejects with the reason of its signal. */
export class Cancelled extends OmnirouteError {}
/** A bug in this package; please report it. */
export class Internal extends OmnirouteError {}

/** Whether this build counts tokens with the real vocabularies. */
export const EXACT_TOKENS: boolean;
/** Version of the package. */
export const version: string;
