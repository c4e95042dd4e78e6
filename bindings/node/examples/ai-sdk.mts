import { createOpenAI } from "@ai-sdk/openai";
import { wrapLanguageModel, type LanguageModel } from "ai";
import { compressionMiddleware } from "omniroute-native/ai-sdk";

/** A model whose requests are shorter; use it wherever the AI SDK takes one. */
export function model(baseURL: string): LanguageModel {
  const openai = createOpenAI({ baseURL, apiKey: "key" });
  return wrapLanguageModel({ model: openai.chat("gpt-5"), middleware: compressionMiddleware() });
}
