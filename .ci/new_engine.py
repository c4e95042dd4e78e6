#!/usr/bin/env python3
"""Makes the file and the lines of a new engine: `make new-engine NAME=my-engine`.

The file is a copy of `engines/template.rs`, which is compiled and run with the tests."""

import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "omniroute-compress" / "src"


def main():
    name = sys.argv[1]
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,31}", name):
        sys.exit(f'new-engine: "{name}" is not a name: lower-case letters, digits and dashes, at most 32')
    module = name.replace("-", "_")
    target = SOURCE / "engines" / f"{module}.rs"
    if target.exists():
        sys.exit(f"new-engine: {target} is there already")
    kind = "".join(part.capitalize() for part in name.split("-"))
    text = (SOURCE / "engines" / "template.rs").read_text()
    target.write_text(text.replace("template", name).replace("Template", kind))
    add(SOURCE / "engines" / "mod.rs", r"\n(?=#\[cfg\(test\)\]\nmod template;)", f"\npub(crate) mod {module};\n")
    add(SOURCE / "registry.rs", r"(?<=::ENTRY,\n)(?=\];)", f"    engines::{module}::ENTRY,\n")
    print(f"new-engine: wrote {target.name}, one line in engines/mod.rs and one at the end of registry.rs; if you")
    print("change the priority, move the line there: engines stand in that order")


def add(path, place, line):
    text, times = re.subn(place, line, path.read_text(), count=1)
    if times != 1:
        sys.exit(f"new-engine: no place for the line in {path}")
    path.write_text(text)


if __name__ == "__main__":
    main()
