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

/** Base of all errors of this package. The message is one line and holds no text of a request. */
export class OmnirouteError extends Error {
  constructor(message: string, facts?: Partial<Omit<OmnirouteError, keyof Error>> & { cause?: unknown });
  /** Stable, for programs. */
  readonly code: string;
  readonly retryAt?: Date | undefined;
  readonly requestId?: string | undefined;
  readonly receipt?: Receipt | undefined;
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
