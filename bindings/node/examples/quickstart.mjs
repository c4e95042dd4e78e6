import { compressMessages, compressText } from "omniroute-native";

const source = Array.from({ length: 80 }, (_, n) => `let total_${n} = price_${n} * quantity_${n};\n`).join("");
const call = { type: "function", function: { name: "read", arguments: '{"path": "a.rs"}' } };
const history = [
  { role: "assistant", tool_calls: [{ ...call, id: "a" }] },
  { role: "tool", tool_call_id: "a", content: source },
  { role: "assistant", tool_calls: [{ ...call, id: "b" }] },
  { role: "tool", tool_call_id: "b", content: source }, // the same file again
];

const { messages, receipt } = await compressMessages(history, { model: "gpt-5" });
console.log(receipt.summary(), messages[0] === history[0]);

const cases = Array.from({ length: 60 }, (_, n) => `test store::case_${n} ... ok\n`).join("");
const printed = `running 60 tests\n${cases}\ntest result: ok. 60 passed; 0 failed; finished in 0.1s\n`;
const shown = await compressText(printed, { command: "cargo test", exitCode: 0 });
console.log(shown.receipt.summary());
