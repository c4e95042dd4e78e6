"""What people pass by mistake, or because it is what they have: it works, or the message says what to do."""

import array
import collections
import decimal
import enum
import gc
import json
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import omniroute as om

HI: list[dict[str, Any]] = [{"role": "user", "content": "hi"}]

WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: om.compress_messages(None), TypeError, "messages is a list, not NoneType"),  # type: ignore[arg-type]
    (lambda: om.compress_messages("hi"), TypeError, "messages is a list, not str; for a whole request use compress()"),
    (
        lambda: om.compress_messages({"messages": HI}),
        TypeError,
        "messages is a list, not dict; for a whole request use compress()",
    ),
    (
        lambda: om.compress(None),  # type: ignore[arg-type]
        TypeError,
        "a body is bytes, str, a buffer of bytes, dict or list, not NoneType",
    ),
    (lambda: om.compress(array.array("d", [1.0])), BufferError, "the body is a buffer of items that are no bytes"),  # type: ignore[arg-type]
    (lambda: om.compress("\ud800"), om.RequestError, "the body holds a lone surrogate, which UTF-8 cannot carry"),
    (
        lambda: om.compress({"messages": [], "t": {"a": [1, decimal.Decimal(1)]}}),
        om.RequestError,
        "the body cannot be written as JSON: an object of type Decimal at /t/a/1",
    ),
    (
        lambda: om.compress([HI[0] | {"content": b"hi"}]),
        om.RequestError,
        "the body cannot be written as JSON: an object of type bytes at /messages/0/content",
    ),
    (
        lambda: om.compress({"t": float("inf"), 3: 4}),
        om.RequestError,
        "the body cannot be written as JSON: a number at /t is infinite or nan",
    ),
    (
        lambda: om.compress({"t": {(1, 2): 3}}),
        om.RequestError,
        'the body cannot be written as JSON: a name of type tuple in "/t"',
    ),
    (
        lambda: om.compress_text(b"hi"),  # type: ignore[arg-type]
        TypeError,
        "text is a str, not bytes; decode bytes first, for instance text.decode(errors='replace')",
    ),
    (lambda: om.compress_text(None), TypeError, "text is a str, not NoneType"),  # type: ignore[arg-type]
    (
        lambda: om.compress_text("x", command=["cargo", "test"]),  # type: ignore[arg-type]
        TypeError,
        "command is a str, not list; for a list of arguments use shlex.join",
    ),
    (
        lambda: om.compress_text("x", "cargo test"),
        om.RequestError,
        'kind: "cargo test" is not "tool_output"; a command line is an argument of its own',
    ),
    (
        lambda: om.compress(b"{}", plan="saef"),
        om.RequestError,
        'plan "saef" is not a plan, an engine or a combo; did you mean "safe"?',
    ),
    (
        lambda: om.compress(b"{}", wire="soap"),
        om.RequestError,
        'wire "soap" is not known; it is one of gemini, openai-responses, anthropic-messages, openai-chat',
    ),
    (
        lambda: om.Compressor("safe"),
        FileNotFoundError,
        "[Errno 2] no such file of a configuration (a plan is given as {\"plan\": ...}): 'safe'",
    ),
    (
        lambda: om.Compressor(3),  # type: ignore[arg-type]
        TypeError,
        "config is a dictionary, the path of a TOML file or None, not int",
    ),
    (
        lambda: om.Compressor({"plan": {1}}),
        om.ConfigError,
        "the configuration cannot be written as JSON: an object of type set at /plan",
    ),
    (lambda: om.Compressor({"plan": None}), om.ConfigError, "plan: null is not a string"),
]


@pytest.mark.parametrize(("call", "kind", "message"), WRONG, ids=[message for _, _, message in WRONG])
def test_a_mistake_is_told(call: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message and type(caught.value) is kind


def test_any_series_of_messages_will_do() -> None:
    for series in (tuple(HI), iter(HI), (message for message in HI), collections.deque(HI)):
        assert om.compress_messages(series) == HI
    assert om.compress(tuple(HI)).json() == {"messages": HI}
    assert om.compress_messages([]) == [] and om.compress([]).json() == {"messages": []}


def test_any_mapping_is_a_configuration() -> None:
    for config in (types.MappingProxyType({"plan": "lite"}), collections.UserDict(plan="lite")):
        assert om.Compressor(config).plan == "lite"
    assert om.compress(b"{}", plan=None).receipt["plan"] == "safe"


def test_a_file_that_is_no_text(tmp_path: Any) -> None:
    file = tmp_path / "c.toml"
    file.write_bytes(b"[compression]\nplan = \"\xff\"\n")
    with pytest.raises(om.ConfigError, match="c.toml: the bytes from 22 on are not UTF-8"):
        om.Compressor(file)


class Role(str, enum.Enum):
    USER = "user"


class Raising:
    def model_dump(self, **_: Any) -> Any:
        raise ValueError("not ready")


class Model:
    def model_dump(self, **_: Any) -> dict[str, Any]:
        return {"role": "user", "content": "hi"}


def test_what_no_message_is_made_of_is_kept_and_noted() -> None:
    given: list[Any] = [*HI, None, 3, "hi", ["hi"], Raising(), Model, {"role": Role.USER, "content": None}]
    given += [HI[0] | {"content": b"hi"}, HI[0] | {"n": float("nan")}]
    out = om.compress_messages(given)
    assert all(new is old for new, old in zip(out, given, strict=True))
    assert out.receipt["skipped"] is None
    notes = [(note["pointer"], note["action"].split()[4]) for note in out.receipt["notes"]]
    assert notes == [
        ("/messages/1", "NoneType"),
        ("/messages/2", "int"),
        ("/messages/3", "str"),
        ("/messages/4", "list"),
        ("/messages/5", "Raising"),
        ("/messages/6", "type"),
        ("/messages/8/content", "bytes"),
        ("/messages/9/n", "float"),
    ]


def test_text_that_utf8_cannot_carry_is_left_alone() -> None:
    printed = b"ok \xff\n".decode(errors="surrogateescape") * 500
    out = om.compress_text(printed, command="make")
    assert out.text is printed and out.receipt["skipped"]["code"] == "unparseable"
    with pytest.raises(om.RequestError) as caught:
        om.Compressor({"strict": True}).compress_text(printed)
    assert caught.value.code == "bad_body"


def test_exit_codes_of_every_system() -> None:
    for code in (0, 1, -9, 0xC0000005, True):
        om.compress_text("x", exit_code=code)


def test_huge_inputs_come_back(body: bytes) -> None:
    text = "word " * 4_000_000
    message = {"role": "user", "content": text}
    assert om.compress_messages([message])[0] is message
    assert om.compress_messages([message]).receipt["skipped"]["code"] == "body_too_large"
    assert om.compress_text(text).text is text
    deep = b'{"messages":' + b"[" * 100_000
    assert om.compress(deep).body is deep


@pytest.mark.parametrize("wire", ["gemini", "google"])
def test_messages_of_every_wire(wire: str) -> None:
    out = om.compress_messages([{"role": "user", "parts": [{"text": "hi"}]}], wire=wire)
    assert out.receipt["skipped"] is None and out.receipt["wire"] == "gemini"
    item = {"type": "message", "role": "user", "content": "hi"}
    assert om.compress_messages([item], wire="responses").receipt["skipped"] is None


def test_nothing_is_held_after_a_call(body: bytes, messages: list[Any]) -> None:
    compressor = om.Compressor()
    text = body.decode()
    held = [body, text, messages, *messages]
    before = [sys.getrefcount(one) for one in held]
    for given in (body, text, messages):
        compressor.compress(given)
        compressor.compress_messages(messages)
    compressor.compress_text(text)
    del given
    assert [sys.getrefcount(one) for one in held] == before
    gone = weakref.ref(compressor)
    del compressor
    gc.collect()
    assert gone() is None


def test_results_are_lists_and_mappings() -> None:
    out = om.compress_messages(HI)
    assert json.dumps(out) == json.dumps(HI) and out + [] == HI
    assert json.loads(out.receipt.json()) == dict(out.receipt)
    for name in ("body", "receipt", "anything"):
        with pytest.raises(AttributeError):
            setattr(om.compress(b"{}"), name, 1)


def test_every_public_thing_is_told_about() -> None:
    def untold(things: dict[str, Any]) -> list[str]:
        return [name for name, thing in things.items() if callable(thing) and not (thing.__doc__ or "").strip()]

    public = {name: getattr(om, name) for name in om.__all__}
    methods = {
        f"{kind.__name__}.{name}": method
        for kind in (om.Compressor, om.Compressed, om.CompressedText, om.Receipt, om.Messages, om.CompressTransport)
        for name, method in vars(kind).items()
        if not name.startswith("_")
    }
    assert untold(public | methods) == []
    assert untold({"x": lambda: None}) == ["x"]
