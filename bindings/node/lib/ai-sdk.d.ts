import type { LanguageModelV3Middleware } from "@ai-sdk/provider";
import type { Compressor, Receipt } from "./index.js";

export interface MiddlewareOptions {
  /** Default is a new one with the default plan. */
  compressor?: Compressor | undefined;
  /** The session of all calls. */
  session?: string | undefined;
  /** Gets the receipt of each call. */
  onReceipt?: ((receipt: Receipt) => void) | undefined;
}

/**
 * Middleware for a language model of the AI SDK 6: `wrapLanguageModel({ model, middleware: compressionMiddleware() })`.
 *
 * What is sent to the model is shorter; the messages of the program are not touched. The receipt of a call is in
 * `providerMetadata.omniroute` of its result.
 */
export function compressionMiddleware(options?: MiddlewareOptions): LanguageModelV3Middleware;
