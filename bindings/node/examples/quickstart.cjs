const { compressSync } = require("omniroute-native");

const out = compressSync({ model: "gpt-5", messages: [{ role: "user", content: "hi" }] });
console.log(out.changed, out.receipt.summary());
