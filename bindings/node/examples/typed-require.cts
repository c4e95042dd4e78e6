// What type checkers see of `require`.

import omniroute = require("omniroute-native");

const out: omniroute.Compressed = omniroute.compressSync("{}", { plan: "off" });
const changed: boolean = out.changed;
console.log(changed, omniroute.EXACT_TOKENS, omniroute.version);
