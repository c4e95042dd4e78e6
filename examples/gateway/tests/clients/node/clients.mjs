// Each official client, asked in its own words; what it understood is given back as text and calls.

import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";

const ANYTHING = { type: "object", properties: {}, additionalProperties: true };

export const openai = (url, apiKey = "any") => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
export const anthropic = (url, apiKey = "any") => new Anthropic({ baseURL: url, apiKey, maxRetries: 0 });
export const google = (url, apiKey = "any") => new GoogleGenAI({ apiKey, httpOptions: { baseUrl: url } });

/** Asks with these tools, streamed or whole. */
export const ASK = {
  async chat(url, model, tools, isStream) {
    const listed = tools.map((name) => ({ type: "function", function: { name, parameters: ANYTHING } }));
    const asked = { model, messages: [{ role: "user", content: "hi" }], tools: listed };
    const { completions } = openai(url).chat;
    const reply = isStream ? await completions.stream(asked).finalChatCompletion() : await completions.create(asked);
    const { content, tool_calls: calls } = reply.choices[0].message;
    return [content ?? "", (calls ?? []).map((call) => [call.function.name, JSON.parse(call.function.arguments || "{}")])];
  },

  async responses(url, model, tools, isStream) {
    const listed = tools.map((name) => ({ type: "function", name, parameters: ANYTHING, strict: false }));
    const asked = { model, input: "hi", tools: listed };
    const { responses } = openai(url);
    const reply = isStream ? await responses.stream(asked).finalResponse() : await responses.create(asked);
    const calls = reply.output.filter((item) => item.type === "function_call");
    // Only whole replies have `output_text`.
    const said = reply.output.filter((item) => item.type === "message").flatMap((item) => item.content);
    return [said.map((part) => part.text ?? "").join(""), calls.map((call) => [call.name, JSON.parse(call.arguments || "{}")])];
  },

  async messages(url, model, tools, isStream) {
    const listed = tools.map((name) => ({ name, input_schema: ANYTHING }));
    const asked = { model, max_tokens: 900, messages: [{ role: "user", content: "hi" }], tools: listed };
    const { messages } = anthropic(url);
    const reply = isStream ? await messages.stream(asked).finalMessage() : await messages.create(asked);
    const of = (type) => reply.content.filter((block) => block.type === type);
    return [of("text").map((block) => block.text).join(""), of("tool_use").map((block) => [block.name, block.input])];
  },

  async gemini(url, model, tools, isStream) {
    const functionDeclarations = tools.map((name) => ({ name, parametersJsonSchema: ANYTHING }));
    const asked = { model, contents: "hi", config: { tools: [{ functionDeclarations }] } };
    const { models } = google(url);
    const replies = [];
    if (isStream) for await (const reply of await models.generateContentStream(asked)) replies.push(reply);
    else replies.push(await models.generateContent(asked));
    const parts = replies.flatMap((reply) => reply.candidates?.[0]?.content?.parts ?? []);
    const calls = parts.filter((part) => part.functionCall).map(({ functionCall: call }) => [call.name, call.args ?? {}]);
    return [parts.filter((part) => part.text && !part.thought).map((part) => part.text).join(""), calls];
  },
};
