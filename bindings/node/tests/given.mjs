// What the tests compress.

/** A file of about 4 KiB. */
export function source() {
  return Array.from({ length: 80 }, (_, n) => `let total_${n + 1} = price_${n + 1} * quantity_${n + 1};\n`).join("");
}

/** An agent that reads the same file twice. */
export function chat(text = source()) {
  const messages = [{ role: "user", content: "read a.rs, twice" }];
  for (const id of ["a", "b"]) {
    const call = { id, type: "function", function: { name: "read", arguments: '{"path": "a.rs"}' } };
    messages.push({ role: "assistant", content: null, tool_calls: [call] });
    messages.push({ role: "tool", tool_call_id: id, content: text });
  }
  return messages;
}

/** A request that takes a while: different files, each read twice. */
export function large(files = 150) {
  const messages = [];
  for (let file = 0; file < files; file += 1) {
    for (const again of ["a", "b"]) {
      const id = `${file}${again}`;
      const call = { id, type: "function", function: { name: "read", arguments: `{"path": "${file}.rs"}` } };
      messages.push({ role: "assistant", content: null, tool_calls: [call] });
      messages.push({ role: "tool", tool_call_id: id, content: source().replaceAll("total", `total_${file}`) });
    }
  }
  return Buffer.from(JSON.stringify({ model: "gpt-5", messages }));
}
