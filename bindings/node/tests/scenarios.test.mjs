// The scenarios that the tests of all languages share: the same file, the same receipt, byte by byte.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";

import { Scenario } from "omniroute-native/testing";

const FOLDER = new URL("../scenarios/", import.meta.url);
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith(".toml"));

function differing(scenario, outcomes) {
  const { expected } = scenario;
  assert.equal(outcomes.length, expected.length);
  const same = ({ text, error, receipt }, n) => {
    const wanted = expected[n];
    return text === wanted.text && error === wanted.error && receipt === wanted.receipt;
  };
  return outcomes.map((_, n) => n).filter((n) => !same(outcomes[n], n));
}

test("there are scenarios", () => assert(FILES.length >= 6));

for (const name of FILES) {
  test(`${name} ends as it says`, async () => {
    const scenario = new Scenario(new URL(name, FOLDER));
    const outcomes = await scenario.run();
    assert.deepEqual(differing(scenario, outcomes), [], JSON.stringify(outcomes, undefined, 2));
    // The check sees a receipt that differs by one character.
    const last = outcomes.pop();
    outcomes.push({ ...last, receipt: `${last.receipt.replace("0", "1")} ` });
    assert.deepEqual(differing(scenario, outcomes), [outcomes.length - 1]);
  });
}
