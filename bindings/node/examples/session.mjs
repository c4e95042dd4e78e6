import { Compressor } from "omniroute-native";

const compressor = new Compressor({ plan: "safe" }); // or the path of a TOML file

async function turn(body) {
  const signal = AbortSignal.timeout(5_000);
  const out = await compressor.compress(body, { session: "s1", signal }); // known text is looked up
  console.log(out.receipt.summary());
  return out.body;
}

await turn('{"model": "gpt-5", "messages": [{"role": "user", "content": "hi"}]}');
console.log(compressor.stats().calls);
