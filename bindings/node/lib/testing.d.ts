/** Time that stands still, for the option `clock` of a router. */
export class VirtualClock {
  /**
   * With `auto`, the default, it moves to the next moment that somebody waits for as soon as nothing else can go on;
   * without, only `advance` moves it. `wallMs` is the date at the start, in milliseconds since 1970.
   */
  constructor(options?: { wallMs?: number; auto?: boolean });
  /** The date, in milliseconds since 1970. */
  get wallMs(): number;
  /** Milliseconds since the start. */
  get ms(): number;
  /** Waits, as a timer does on the time of the machine. */
  sleep(ms: number, options?: { signal?: AbortSignal }): Promise<void>;
  /** Moves on, through every moment on the way. */
  advance(ms: number): void;
}

/** What a vendor answers. */
export interface ScriptedReply {
  /** 200 if absent. */
  status?: number;
  headers?: Record<string, string>;
  body?: string | Uint8Array | object;
  /** A streamed body instead. */
  pieces?: readonly (string | Uint8Array)[];
  /** Time before the head, and before each piece. */
  after_ms?: number;
  piece_ms?: number;
  /** The exchange fails in this phase. */
  broke?: "connect" | "tls" | "send" | "read";
}

/** Vendors that answer as they are told: the n-th request gets the n-th reply. `new Router(config, { fetch: script.fetch })`. */
export class Script {
  constructor(replies: Iterable<ScriptedReply>, options?: { clock?: VirtualClock });
  readonly fetch: (url: string, init?: any) => Promise<Response>;
  /** What was sent. */
  readonly requests: { url: string; method: string; headers: Headers; body: any }[];
  /** How many exchanges were given up. */
  readonly aborted: number;
}

/** What became of one request of a scenario: the text or the code of the error, and the receipt as JSON text. */
export interface ScenarioOutcome {
  text: string | undefined;
  error: string | undefined;
  receipt: string;
}

/** A file with a configuration, requests, what the vendors answer, and what has to come of it. */
export class Scenario {
  constructor(path: string | URL);
  get name(): string;
  get expected(): { text?: string; error?: string; receipt: string }[];
  /** Plays it through a `Router`, on a clock of its own. */
  run(): Promise<ScenarioOutcome[]>;
}

/** An exchange of a `fetch` of your own failed in `phase`. The words must hold no secret. */
export class TransportError extends Error {
  constructor(phase: "connect" | "tls" | "send" | "read", message: string);
  readonly phase: string;
}
