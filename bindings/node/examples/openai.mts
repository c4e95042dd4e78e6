import OpenAI from "openai";
import { compressFetch } from "omniroute-native/openai";

/** The SDK's own client: the same calls, shorter requests. */
export function client(baseURL: string): OpenAI {
  const fetch = compressFetch({ onReceipt: (receipt) => console.log(receipt.summary()) });
  return new OpenAI({ baseURL, apiKey: "key", fetch });
}
