"""The description at /api/openapi.json against the gateway itself: a stranger reads it, calls everything it names in
ways it allows and ways it does not, and looks whether the answers are what was said."""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import urllib.request

import pytest
from vendors import Gateway, Vendors

KEY = "or_" + "k" * 43
#: Reads for as long as it is let.
STREAMS = ["events", "events.resilience"]
REPLY = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
}
SETTINGS = """
seed = 84
color = false
[phases.stateful]
enabled = false
# What somebody else does not answer is not a fault of ours.
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", 501, 502, 503, 504]
# The models that exist are not in the description.
[checks.positive_data_acceptance]
enabled = false
"""


@pytest.fixture(scope="module")
def vendors():
    return Vendors(always=json.dumps(REPLY))


def keyed() -> str:
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    return (
        f'[[gateway.keys]]\nname = "all"\nhash = "sha256:{digest}"\n'
        'scopes = ["*", "lease:exclusive"]\nconnections = ["openai-chat/a"]\n'
    )


def described(gateway: Gateway) -> dict:
    with urllib.request.urlopen(f"{gateway.url}/api/openapi.json") as answer:
        return json.load(answer)


def judged(folder: pathlib.Path, gateway: Gateway, document: dict, key: "str | None", examples: int, *only: str) -> "tuple[int, str]":
    """Exit code and report of a run with a fixed seed; `only` names operations."""
    (folder / "schemathesis.toml").write_text(SETTINGS)
    (folder / "openapi.json").write_text(json.dumps(document))
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", "schemathesis.toml", "run", "openapi.json"]
    command += ["--url", gateway.url, "--max-examples", str(examples), "--generation-database", "none", "--suppress-health-check", "all", "--request-timeout", "60"]
    for name in only:
        command += ["--include-operation-id", name]
    for name in [] if only else STREAMS:
        command += ["--exclude-operation-id", name]
    if key is not None:
        command += ["--header", f"Authorization: Bearer {key}"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, "COLUMNS": "160"})
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.parametrize("who", ["all scopes", "nobody"])
def test_answers_are_what_was_said(vendors, tmp_path, who):
    gateway = Gateway(tmp_path, vendors, keyed() if who == "all scopes" else "")
    try:
        document = described(gateway)
        code, report = judged(tmp_path, gateway, document, KEY if who == "all scopes" else None, 3)
        assert code == 0, report
        # It did call what it was told of.
        count = sum(len(methods) for methods in document["paths"].values())
        assert f"{count - len(STREAMS)} selected" in report, report
    finally:
        assert gateway.close() == 0


def test_a_wrong_description_is_noticed(vendors, tmp_path):
    gateway = Gateway(tmp_path, vendors, keyed())
    try:
        document = described(gateway)
        answers = document["paths"]["/api/monitoring/health"]["get"]["responses"]
        good = judged(tmp_path, gateway, document, KEY, 2, "health.get")
        assert good[0] == 0, good[1]
        properties = answers["200"]["content"]["application/json"]["schema"]["properties"]
        assert properties["uptime_s"] == {"type": "number"}
        properties["uptime_s"] = {"type": "string"}
        code, report = judged(tmp_path, gateway, document, KEY, 2, "health.get")
        assert code == 1 and "Response violates schema" in report, report
        assert "uptime_s" in report or "is not of type \"string\"" in report, report
    finally:
        assert gateway.close() == 0
