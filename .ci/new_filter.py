#!/usr/bin/env python3
"""Makes the file of a new built-in filter: `make new-filter NAME=my-tool [COMMAND="my tool"] [CATEGORY=build]`."""

import pathlib
import re
import sys

CATEGORIES = ["git", "test", "build", "package", "shell", "docker", "infra", "cloud", "generic"]

TEMPLATE = '''schema_version = 2

[filters.{id}]
description = "say in one line what stays and what becomes a count; no capture yet"
category = "{category}"
priority = 50
commands = ["{command}"]
# The recorded output this was written from, such as "{category}/{id}-failed.txt" in tests/rtk-captures. While it is
# "none" the filter may fold repeats, and no key may leave lines out.
capture = "none"
# strip_lines_matching = ['^waiting for ']
# counted_as = "progress lines"
# noise = ['^\\(use "']
# preserve = ['^rolled back']

[[tests.{id}]]
name = "success: what stays and what goes"
command = "{command}"
exit_code = 0
input = """
replace this by a real output, shortened
"""
expected = """
replace this by a real output, shortened
"""

[[tests.{id}]]
name = "a failure stays whole"
command = "{command}"
exit_code = 1
input = """
error: replace this by a real failure
"""
expected = """
error: replace this by a real failure
"""
'''


def fail(message):
    sys.exit(f"new-filter: {message}")


def main():
    name, command, category = (sys.argv[1:] + ["", ""])[:3]
    command = command or name
    category = category or "generic"
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,63}", name):
        fail(f'"{name}" is not a name: lower-case letters, digits, ".", "_", "-", at most 64')
    if not re.fullmatch(r"[A-Za-z0-9._+-]+( [A-Za-z0-9._+-]+)*", command):
        fail(f'"{command}" is not the first words of a command, with one blank between them')
    if category not in CATEGORIES:
        fail(f'"{category}" is no category; there are {", ".join(CATEGORIES)}')
    folder = pathlib.Path(__file__).resolve().parent.parent / "omniroute-compress" / "src" / "rtk" / "filters"
    target = folder / f"{name}.toml"
    if target.exists():
        fail(f"there is a filter {name} already: {target.name}")
    for file in sorted(folder.glob("*.toml")):
        listed = re.search(r"^commands\s*=\s*\[(.*?)\]", file.read_text(), re.M | re.S)
        if listed and command in re.findall(r"""["']([^"']*)["']""", listed.group(1)):
            fail(f'"{command}" is a command of {file.name} already')
    target.write_text(TEMPLATE.format(id=name, command=command, category=category))
    print(f"new-filter: wrote omniroute-compress/src/rtk/filters/{target.name}; CONTRIBUTING.md says what comes next")


if __name__ == "__main__":
    main()
