export * from "./openai.js";
