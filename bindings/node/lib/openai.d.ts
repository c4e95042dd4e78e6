import type { Compressor, Receipt, RouteReceipt } from "./index.js";

/** The parts of `fetch` that clients use. */
type Fetch = (input: any, init?: any) => Promise<Response>;

export interface FetchOptions {
  /** What sends in the end; default is the host's `fetch`. */
  fetch?: Fetch | undefined;
  /** Default is a new one with the default plan. */
  compressor?: Compressor | undefined;
  /** The session of all calls. */
  session?: string | undefined;
  /** Gets the receipt of each call. */
  onReceipt?: ((receipt: Receipt) => void) | undefined;
}

/**
 * A `fetch` that compresses what it sends: `new OpenAI({ fetch: compressFetch() })`.
 *
 * Touches POST requests to paths of known chat APIs only, with a body of text or bytes; everything else passes through as
 * it is. An abort of the request's signal is an abort of its compression.
 */
export function compressFetch(options?: FetchOptions): Fetch;

/** What was done to the request that `response` answers: by `compressFetch`, or by the `fetch` of a router. */
export function receiptOf(response: Response): Receipt | RouteReceipt | undefined;
