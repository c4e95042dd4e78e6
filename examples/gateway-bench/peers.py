#!/usr/bin/env python3
"""Puts other gateways beside ours for `make bench-gateway`, where they can be installed, and runs the benchmark.

They live under `target/peers`. What cannot be installed is left out, and that is said. `--without-peers` installs nothing;
other words go to the benchmark.
"""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "peers"
PORTKEY = "1.15.2"
LITELLM = "1.108.7"


def done(command: "list[str]", cwd: pathlib.Path) -> bool:
    try:
        ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=1800)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"{command[0]}: {error}", file=sys.stderr)
        return False
    if ended.returncode != 0:
        print(ended.stderr[-500:], file=sys.stderr)
    return ended.returncode == 0


def portkey() -> "dict | None":
    folder = FOLDER / "portkey"
    server = folder / "node_modules" / "@portkey-ai" / "gateway" / "build" / "start-server.js"
    folder.mkdir(parents=True, exist_ok=True)
    if not server.is_file():
        (folder / "package.json").write_text('{ "private": true }\n')
        words = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", f"@portkey-ai/gateway@{PORTKEY}"]
        if not done(words, folder) or not server.is_file():
            return None
    headers = {
        "authorization": "Bearer sk-bench",
        "x-portkey-provider": "openai",
        "x-portkey-custom-host": "http://127.0.0.1:{vendor}/v1",
    }
    command = ["node", str(server), "--port={port}", "--headless"]
    return {"name": f"portkey {PORTKEY}", "command": command, "path": "/v1/chat/completions", "headers": headers}


def litellm() -> "dict | None":
    folder = FOLDER / "litellm"
    program = folder / "bin" / "litellm"
    if not program.is_file():
        made = done([sys.executable, "-m", "venv", str(folder)], ROOT)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "-q", "install", "--disable-pip-version-check"]
        if not made or not done([*pip, f"litellm[proxy]=={LITELLM}"], ROOT):
            return None
    models = "".join(
        f"  - model_name: {name}\n    litellm_params: {{ model: openai/{name}, api_base: 'http://127.0.0.1:{{vendor}}/v1', api_key: sk-bench }}\n"
        for name in ("m", "m250")
    )
    config = folder / "bench.yaml"
    return {
        "name": f"litellm {LITELLM}",
        "command": [str(program), "--config", str(config), "--port", "{port}", "--host", "127.0.0.1"],
        "path": "/v1/chat/completions",
        "headers": {},
        "file": str(config),
        "text": f"model_list:\n{models}",
    }


def main() -> None:
    words = sys.argv[1:]
    with_peers = "--without-peers" not in words
    found = []
    for name, make in (("portkey", portkey), ("litellm", litellm)) if with_peers else ():
        peer = make()
        if peer is None:
            print(f"{name} could not be installed and is left out")
        else:
            found.append(peer)
    FOLDER.mkdir(parents=True, exist_ok=True)
    told = FOLDER / "peers.json"
    told.write_text(json.dumps(found))
    cargo = os.environ.get("CARGO", "cargo")
    # Each alone: what another package wants of a library must not change the program that is measured.
    for package in ("omniroute-gateway", "gateway-bench"):
        if subprocess.run([cargo, "build", "-q", "--release", "-p", package], cwd=ROOT).returncode != 0:
            sys.exit(1)
    built = FOLDER.parent / "release"
    env = {**os.environ, "OMNIROUTE_BENCH_PEERS": str(told), "OMNIROUTE_BIN": str(built / "omniroute")}
    words = [word for word in words if word != "--without-peers"]
    sys.exit(subprocess.run([str(built / "gateway-bench"), *words], cwd=ROOT, env=env).returncode)


if __name__ == "__main__":
    main()
