import OpenAI from "openai";
import type { Router } from "omniroute-native";

/** The SDK's own client whose requests go to a router of the same process instead of a socket. */
export function routed(router: Router): OpenAI {
  return new OpenAI({ baseURL: "http://omniroute.invalid/v1", apiKey: "in-process", maxRetries: 0, fetch: router.fetch });
}
