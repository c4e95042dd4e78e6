//! Texts that are nobody's output: no filter may claim them, with or without a command that shows them.

use super::{bare, classes, shell};
use crate::rtk::detect::{FILE_VIEW, STRUCTURED, UNKNOWN};

const TEXTS: &[(&str, &str)] = &[
    (
        "prose",
        "The parser failed twice today. We think that the error is in the lexer, but nobody knows.\nPlease look at the tests that failed and tell us what you find.\nThe build passed on Monday with 3 warnings and it took 5 minutes.\n",
    ),
    (
        "markdown",
        "# Running\n\nRun `cargo test` and look for:\n\n```\ntest result: ok. 3 passed; 0 failed\nrunning 3 tests\n```\n\n- On branch main the build passes\n- Changes are listed in CHANGELOG\n* modified: nothing\n\n## Status\n\n| name | state |\n|---|---|\n| a | high |\n",
    ),
    (
        "rust",
        "use std::io;\n\npub fn main() -> io::Result<()> {\n    let error = read()?;\n    println!(\"test result: ok. {}\", error);\n    // error: could not compile\n    Ok(())\n}\n",
    ),
    (
        "python",
        "import os\nfrom x import y\n\ndef test_a():\n    \"\"\"FAILED tests/a.py::b\"\"\"\n    assert y(1) == 2\n\nclass A:\n    def b(self):\n        raise ValueError('x')\n",
    ),
    (
        "javascript",
        "import { test } from 'vitest';\n\nexport const a = () => {\n  describe('x', () => {\n    it('fails', () => { throw new Error('x'); });\n  });\n};\n",
    ),
    (
        "typescript",
        "interface A {\n  error: string;\n  warning?: number;\n}\nexport function f(a: A): void {\n  console.log(`${a.error}: error TS2345`);\n}\n",
    ),
    (
        "go",
        "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"--- FAIL: TestX (0.00s)\")\n\tpanic(\"x\")\n}\n",
    ),
    (
        "java",
        "package a;\n\nimport java.util.List;\n\npublic class A {\n  @Test\n  public void b() throws Exception {\n    throw new IllegalStateException(\"Caused by: x\");\n  }\n}\n",
    ),
    (
        "c",
        "#include <stdio.h>\n\nint main(void) {\n    fprintf(stderr, \"a.c:1:2: error: x\\n\");\n    return 0;\n}\n",
    ),
    ("ruby", "require 'x'\n\nclass A\n  def b\n    raise 'failed'\n  end\nend\n"),
    (
        "toml",
        "[package]\nname = \"a\"\nversion = \"0.1.0\"\n\n[dependencies]\nserde = \"1\"\n\n[lints.rust]\nmissing_docs = \"warn\"\n",
    ),
    (
        "yaml",
        "on:\n  push:\n    branches: [main]\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: actions/checkout@v4\n      - run: cargo test\n",
    ),
    ("ini", "[core]\n\tbare = false\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n"),
    ("cjk", "注文 12 件\n商品 34 点\n合計 5678 円\n東京 1\n大阪 2\n名古屋 3\n"),
    (
        "certificate",
        "Certificate:\n    Data:\n        Version: 3 (0x2)\n        Serial Number:\n            55:a0:12:34\n        Signature Algorithm: sha256WithRSAEncryption\n        Issuer: CN = example\n        Validity\n            Not Before: Nov 30 09:00:00 2026 GMT\n",
    ),
    (
        "blame",
        "1a2b3c4d (Sam Rivera 2026-01-15 10:00:00 +0100 1) [package]\n1a2b3c4d (Sam Rivera 2026-01-15 10:00:00 +0100 2) name = \"a\"\n5e6f7a8b (Ann Poe    2026-02-15 10:00:00 +0100 3) version = \"1\"\n",
    ),
    (
        "numbered",
        "     1\tOn branch main\n     2\tnothing to commit, working tree clean\n     3\ttest result: ok. 1 passed; 0 failed\n     4\trunning 1 test\n",
    ),
    (
        "checksums",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b  a.bin\n2c26b46b68ffc68ff99b453c1d30413413422d70  b.bin\n",
    ),
    (
        "addresses",
        "1: lo: <LOOPBACK,UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000\n    inet 127.0.0.1/8 scope host lo\n2: eth0: <BROADCAST,UP> mtu 1500 state UP\n    inet 10.0.0.2/24 brd 10.0.0.255 scope global eth0\n",
    ),
    (
        "ledger",
        "2024-06-25 * City Power  ; tag:ops\n    Expenses:Power   12.50 EUR\n    Assets:Bank\n\n2024-06-26 * Cafe\n    Expenses:Food   3.20 EUR\n    Assets:Bank\n",
    ),
    ("csv", "id,name,total\n1,a,2.5\n2,b,3.5\n3,c,4.5\n"),
    ("bullets", "* main\n* release\n- low\n- high\n- critical\n1 a\n2 b\n3 c\n"),
];

#[test]
fn nobody_claims_them() {
    for (name, text) in TEXTS {
        // Longer than any sample of a few lines: three copies are no more of an output than one.
        for text in [(*text).to_owned(), text.repeat(3)] {
            let found = classes(&bare(&text));
            assert!(
                found.iter().all(|class| matches!(*class, UNKNOWN | FILE_VIEW | STRUCTURED)),
                "{name}: {found:?}"
            );
            let viewed = classes(&shell("cat notes", &text));
            assert_eq!(viewed, [FILE_VIEW], "{name}");
            let ran = classes(&shell("frobnicate --all", &text));
            assert!(ran.iter().all(|class| matches!(*class, UNKNOWN | STRUCTURED)), "{name}: {ran:?}");
            let scripted = classes(&shell("make frob", &text));
            assert!(
                scripted.iter().all(|class| matches!(*class, UNKNOWN | FILE_VIEW | STRUCTURED)),
                "{name}: {scripted:?}"
            );
        }
    }
}

#[test]
fn the_check_catches_a_claim() {
    let found = classes(&bare("running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed\n"));
    assert_eq!(found, ["test-cargo"]);
}
