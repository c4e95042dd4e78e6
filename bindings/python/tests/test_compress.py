"""What goes in comes out as the same thing, shorter."""

import copy
import json
import pickle
from collections import OrderedDict
from typing import Any

import pytest

import omniroute as om


def test_bytes_in_bytes_out(body: bytes) -> None:
    out = om.compress(body)
    assert out.changed and len(out.body) < len(body)
    assert out.receipt["applied"] is True and out.receipt.tokens_after < out.receipt.tokens_before
    assert 0 < out.saved_ratio < 1
    assert json.loads(out.body) == out.json() == json.loads(out.text)


def test_unchanged_bytes_are_the_same_object() -> None:
    body = b'{"messages": [{"role": "user", "content": "hi"}]}'
    assert om.compress(body).body is body
    unreadable = b"{"
    out = om.compress(unreadable)
    assert out.body is unreadable and out.receipt["skipped"]["code"] == "unparseable"


def test_every_form_of_a_body_gives_the_same(body: bytes, messages: list[Any]) -> None:
    expected = json.loads(om.compress(body).body)
    request = {"model": "gpt-5", "messages": messages}
    forms: list[Any] = [body.decode(), bytearray(body), memoryview(body), request, OrderedDict(request)]
    for form in forms:
        assert json.loads(om.compress(form).body) == expected, type(form)
    assert json.loads(om.compress(messages).body)["messages"] == expected["messages"]
    with pytest.raises(BufferError):
        om.compress(memoryview(body)[::2])
    with pytest.raises(TypeError, match="not int"):
        om.compress(3)  # type: ignore[arg-type]


def test_a_dictionary_that_does_not_change_comes_back() -> None:
    request = {"messages": [{"role": "user", "content": "hi"}]}
    assert om.compress(request).json() is request


def test_messages_keep_their_identity_and_the_input_is_not_touched(messages: list[Any]) -> None:
    before = copy.deepcopy(messages)
    out = om.compress_messages(messages)
    assert messages == before
    assert isinstance(out, list) and out.changed and len(out) == len(messages)
    same = [new is old for new, old in zip(out, messages, strict=True)]
    assert same == [True, True, True, True, False]
    assert out[4] is not messages[4] and len(out[4]["content"]) < len(messages[4]["content"])
    assert {k: v for k, v in out[4].items() if k != "content"} == {
        k: v for k, v in messages[4].items() if k != "content"
    }
    quiet = om.compress_messages(messages[:1])
    assert quiet == messages[:1] and quiet[0] is messages[0] and not quiet.changed


def test_messages_agree_with_the_body(messages: list[Any]) -> None:
    whole = json.loads(om.compress({"messages": messages}).body)["messages"]
    assert om.compress_messages(messages) == whole


def test_nested_lists_are_copied_on_the_way_only() -> None:
    blocks = [{"type": "text", "text": "short"}]
    text = "".join(f"row {n} of the file with some words in it\n" for n in range(80))
    call = {"type": "tool_use", "name": "read", "input": {"path": "a"}}
    given: list[dict[str, Any]] = [
        {"role": "assistant", "content": [call | {"id": "x"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": text}]},
        {"role": "assistant", "content": [call | {"id": "y"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "y", "content": text}, *blocks]},
    ]
    out = om.compress_messages(given, wire="anthropic-messages")
    assert out.changed and out[1] is given[1] and out[3] is not given[3]
    assert out[3]["content"][1] is blocks[0]
    assert given[3]["content"][0]["content"] == text


class Dumped:
    """As the objects of SDKs."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self, **_: Any) -> dict[str, Any]:
        return dict(self.fields)


def test_objects_of_an_sdk_and_objects_nobody_knows(messages: list[Any]) -> None:
    given = [*messages[:4], Dumped(**messages[4]), object()]
    out = om.compress_messages(given)
    assert out[4] == om.compress_messages(messages)[4]
    assert out[5] is given[5]
    notes = [note for note in out.receipt["notes"] if note["code"] == "kept_object"]
    assert notes == [
        {"code": "kept_object", "pointer": "/messages/5", "action": "an object of type object was kept as it is"}
    ]


def test_odd_values() -> None:
    class Word(str):
        pass

    request = {
        "messages": [{"role": Word("user"), "content": "caf\u00e9 \U0001f980 \"quoted\" \\ \x00"}],
        "n": [1, -2, 10**30, 1.5, 1e300, True, False, None, ("a", "b")],
        "empty": {},
    }
    assert json.loads(om.compress(request, plan="off").body) == json.loads(json.dumps(request))
    assert json.loads(om.compress({"messages": [], 3: 4}, plan="off").body) == {"messages": [], "3": 4}
    with pytest.raises(om.RequestError) as caught:
        om.compress({"messages": [], "x": float("nan")})
    assert caught.value.code == "bad_argument"
    with pytest.raises(om.RequestError):
        om.compress({"messages": [], "x": object()})
    lone = [{"role": "user", "content": "\ud800"}]
    assert om.compress_messages(lone)[0] is lone[0]
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(RecursionError):
        om.compress({"messages": loop})


def test_text() -> None:
    printed = "running 60 tests\n" + "".join(f"test store::case_{n} ... ok\n" for n in range(60))
    printed += "\ntest result: ok. 60 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\n"
    out = om.compress_text(printed, kind="tool_output", command="cargo test", exit_code=0)
    assert out.changed and "60 passed" in out.text and len(str(out)) * 4 < len(printed)
    same = om.compress_text("hi")
    assert same.text == "hi" and not same.changed


def test_configuration(tmp_path: Any, body: bytes) -> None:
    file = tmp_path / "omniroute.toml"
    file.write_text('[compression]\nplan = "lite"\n')
    for config in (file, str(file), {"plan": "lite"}, {"mode": "lite"}, {"compression": {"plan": "lite"}}):
        assert om.Compressor(config).plan == "lite"
    with om.Compressor() as compressor:
        assert compressor.plan == "safe"
        assert compressor.compress(body).changed
        assert compressor.preview(body).receipt["memo"]["hits"] == 0
        assert compressor.compress(body).receipt["memo"]["hits"] > 0
        assert compressor.stats()["calls"] == 2
        assert not compressor.compress(body, plan="off").changed
        assert repr(compressor) == "<Compressor plan='safe'>"


def test_what_a_session_costs(body: bytes) -> None:
    compressor = om.Compressor()
    first = compressor.compress(body, session="s").receipt["engine_bytes"]
    assert first > 0 and compressor.compress(body, session="s").receipt["engine_bytes"] == 0


def test_results_can_be_pickled_and_copied(body: bytes, messages: list[Any]) -> None:
    results: list[Any] = [om.compress(body), om.compress_text("x" * 10), om.compress_messages(messages)]
    for result in results:
        for again in (pickle.loads(pickle.dumps(result)), copy.copy(result)):
            assert type(again) is type(result)
            assert dict(again.receipt) == dict(result.receipt)
            assert again.receipt.summary() == result.receipt.summary()
            assert again.changed == result.changed
    compressor = om.Compressor({"plan": "lite"})
    for again in (pickle.loads(pickle.dumps(compressor)), copy.copy(compressor)):
        assert again.plan == "lite" and again.stats()["calls"] == 0


def test_match() -> None:
    match om.compress(b'{"messages": []}'):
        case om.Compressed(sent, receipt):
            assert sent == b'{"messages": []}' and not receipt.applied
        case _:
            raise AssertionError
