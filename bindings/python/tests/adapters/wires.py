"""Replies that this project wrote, from the file that `OMNIROUTE_WIRE_SAMPLES` names, for the official packages to read."""

import json
import os
from typing import Any

import pytest


def samples(wire: str) -> "list[dict[str, Any]]":
    path = os.environ.get("OMNIROUTE_WIRE_SAMPLES")
    if path is None:
        pytest.skip("needs OMNIROUTE_WIRE_SAMPLES: `tasks.py adapters` sets it")
    with open(path, encoding="utf-8") as file:
        found = [json.loads(line) for line in file]
    return [sample for sample in found if sample["wire"] == wire]


def replies(wire: str) -> "list[dict[str, Any]]":
    found = [sample for sample in samples(wire) if "found" in sample]
    assert len(found) >= 11
    return found


def broken(wire: str) -> str:
    """A stream that dies in the middle."""
    (sample,) = [sample for sample in samples(wire) if sample["name"] == "broken"]
    return sample["stream"]


class Answers:
    """A provider that gives the body it was last told, to whatever is asked."""

    def __init__(self, library: Any):
        self.body = ""
        self.kind = ""

        def handler(_: Any) -> Any:
            return library.Response(200, headers={"content-type": self.kind}, content=self.body.encode())

        self.client = library.Client(transport=library.MockTransport(handler))

    def whole(self, sample: "dict[str, Any]") -> None:
        self.body, self.kind = sample["whole"], "application/json"

    def stream(self, text: str) -> None:
        self.body, self.kind = text, "text/event-stream"


def strictly(model: Any, sample: "dict[str, Any]", text: str) -> None:
    """Reads with every rule of the package's types. What a vendor of the same wire said is repeated as it was, old or odd."""
    if not sample["own"]:
        try:
            model.model_validate_json(text)
        except ValueError as error:
            raise AssertionError(f"{sample['name']}: {error}") from error


def value(text: str) -> Any:
    """Arguments of a call; none are an empty object."""
    try:
        return json.loads(text or "{}") or {}
    except json.JSONDecodeError:
        return text


def plain(calls: "list[tuple[str, Any]]", broken: "set[str]") -> "list[tuple[str, Any]]":
    """Of arguments that a model broke off only the name of the call counts: each wire tells them in its own way."""
    return [(name, None if name in broken else arguments) for name, arguments in calls]


def check(sample: "dict[str, Any]", whole: bool, text: str, calls: "list[tuple[str, Any]]") -> None:
    """Whether the text and the calls of the first choice are what was written."""
    found = sample["found"]
    assert text == found["text"] + found["refusal"], sample["name"]
    given = [(call["name"], call["arguments"]) for call in found["calls"]]
    broken = {name for name, arguments in given if not isinstance(arguments, dict)}
    if found["cut"] and not (whole and sample["own"]):
        # A call that the limit cut is told in streams only, and where the vendor itself told it.
        given = [call for call in given if call[0] not in broken]
        calls = calls if whole else [call for call in calls if call[0] not in broken]
    assert plain(calls, broken) == plain(given, broken), sample["name"]
