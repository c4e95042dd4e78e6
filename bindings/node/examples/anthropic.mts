import Anthropic from "@anthropic-ai/sdk";
import type { Router } from "omniroute-native";

/** The SDK's own client whose requests go to a router of the same process instead of a socket. */
export function routed(router: Router): Anthropic {
  return new Anthropic({ baseURL: "http://omniroute.invalid", apiKey: "in-process", maxRetries: 0, fetch: router.fetch });
}
