import { Router } from "omniroute-native";

/** A vendor of your own is an object; here one that is played, so that no key is needed. */
const echo = { id: "echo", chat: async ({ messages }) => `you said: ${messages.at(-1).content}` };

const config = {
  // connections: [{ id: "openai/work", key: { env: "OPENAI_API_KEY" } }],
  combos: [{ name: "daily", strategy: "priority", steps: ["echo/small"] }],
};
const router = new Router(config, { providers: [echo] });
const ask = { model: "daily", messages: [{ role: "user", content: "hello" }] };

const reply = await router.chat(ask, { session: "s1", timeoutMs: 30_000 });
console.log(reply.text, "|", reply.receipt.summary());

for await (const event of router.stream(ask)) if (event.type === "text") console.log(event.text);

const init = { method: "POST", body: JSON.stringify(ask) }; // what an SDK sends; nothing goes over a socket
const response = await router.fetch("http://omniroute.invalid/v1/chat/completions", init);
console.log(response.status, (await response.json()).choices[0].message.content);
await router.close();
