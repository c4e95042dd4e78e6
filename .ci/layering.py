#!/usr/bin/env python3
"""Checks who depends on whom, from `cargo metadata`. Run without arguments; exits 1 and names the edge."""

import json
import subprocess
import sys

# Crate -> crates of the workspace it may use (not for tests).
ALLOWED = {
    "omniroute-core": set(),
    "omniroute-compress": {"omniroute-core"},
    "omniroute-resilience": {"omniroute-core"},
    "omniroute-providers": {"omniroute-core"},
    "omniroute-route": {"omniroute-core", "omniroute-resilience"},
    "omniroute": {"omniroute-core", "omniroute-compress", "omniroute-resilience", "omniroute-route", "omniroute-providers"},
    "omniroute-python": {"omniroute"},
    "omniroute-node": {"omniroute"},
}
# Never in the normal, default dependencies of the libraries, directly or below.
BANNED = {"tokio", "reqwest", "hyper", "rustls", "openssl"}
# Switching these on would change JSON behaviour in the host's whole program.
BANNED_FEATURES = {"serde_json": {"preserve_order", "arbitrary_precision"}}


def problems(metadata):
    names = {p["id"]: p["name"] for p in metadata["packages"]}
    nodes = {n["id"]: n for n in metadata["resolve"]["nodes"]}
    found = []

    def normal(node):
        return [d["pkg"] for d in node["deps"] if any(k["kind"] is None for k in d["dep_kinds"])]

    for ident, name in names.items():
        if name not in ALLOWED:
            continue
        seen, todo = set(), [ident]
        while todo:
            for dep in normal(nodes[todo.pop()]):
                if dep not in seen:
                    seen.add(dep)
                    todo.append(dep)
        below = {names[d] for d in seen}
        inside = {names[d] for d in normal(nodes[ident])} & set(ALLOWED)
        found += [f"{name} must not depend on {dep}" for dep in sorted(inside - ALLOWED[name])]
        found += [f"{name} must not pull in {dep}" for dep in sorted(below & BANNED)]
        for dep in seen:
            extra = BANNED_FEATURES.get(names[dep], set()) & set(nodes[dep]["features"])
            found += [f"{name} must not switch on {names[dep]}/{feature}" for feature in sorted(extra)]
    return found


def twin():
    """A made-up workspace with every mistake: the check must see them all."""
    def package(name, deps=(), features=()):
        kinds = [{"kind": None}]
        return {"id": name, "deps": [{"pkg": d, "dep_kinds": kinds} for d in deps], "features": list(features)}

    nodes = [
        package("omniroute-core", ["omniroute-compress", "tokio"]),
        package("omniroute-compress", ["serde_json"]),
        package("tokio"),
        package("serde_json", features=["preserve_order"]),
    ]
    packages = [{"id": n["id"], "name": n["id"]} for n in nodes]
    return {"packages": packages, "resolve": {"nodes": nodes}}


def read(*options):
    command = ["cargo", "metadata", "--format-version", "1", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def main():
    caught = problems(twin())
    if len(caught) != 4:
        sys.exit(f"layering: the broken workspace shows {len(caught)} problems, expected 4: {caught}")
    # The defaults of the libraries, not what the examples switch on in them.
    own = read("--no-deps")["packages"]
    defaults = [f"{p['name']}/default" for p in own if p["name"] in ALLOWED and "default" in p["features"]]
    metadata = read("--no-default-features", "--features", ",".join(defaults))
    found = problems(metadata)
    for problem in found:
        print(f"layering: {problem}")
    print(f"layering: {len(ALLOWED)} crates known, {len(found)} problems")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
