"""The official package of Anthropic reads what this project writes: whole answers strictly, streams through its helpers."""

from typing import Any

import anthropic
import pytest
from anthropic.types import Message
from scripted import library_of
from wires import Answers, broken, check, replies, strictly

ASK: "dict[str, Any]" = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}


def client() -> "tuple[anthropic.Anthropic, Answers]":
    answers = Answers(library_of(anthropic.DefaultHttpxClient))
    return anthropic.Anthropic(api_key="k", base_url="http://test", http_client=answers.client, max_retries=0), answers


def of(message: Any) -> "tuple[str, list[tuple[str, Any]]]":
    text = "".join(block.text for block in message.content if block.type == "text")
    return text, [(block.name, block.input) for block in message.content if block.type == "tool_use"]


def test_the_samples_are_read_strictly() -> None:
    """Twin: what lacks a member is refused by the strict reading."""
    sample = replies("anthropic-messages")[0]
    Message.model_validate_json(sample["whole"])
    with pytest.raises(ValueError):
        Message.model_validate_json(sample["whole"].replace('"usage"', '"other"'))


def test_messages() -> None:
    sdk, answers = client()
    for sample in replies("anthropic-messages"):
        strictly(Message, sample, sample["whole"])
        answers.whole(sample)
        check(sample, True, *of(sdk.messages.create(**ASK)))


def test_streams() -> None:
    sdk, answers = client()
    for sample in replies("anthropic-messages"):
        answers.stream(sample["stream"])
        with sdk.messages.stream(**ASK) as stream:
            text = "".join(stream.text_stream)
            message = stream.get_final_message()
        check(sample, False, *of(message))
        assert text == of(message)[0], sample["name"]
        usage = sample["found"]["usage"]
        if usage:
            told = message.usage
            read, written = told.cache_read_input_tokens or 0, told.cache_creation_input_tokens or 0
            assert (told.input_tokens + read + written, told.output_tokens) == (usage["input"], usage["output"]), sample["name"]


def test_a_broken_stream_is_an_error() -> None:
    sdk, answers = client()
    answers.stream(broken("anthropic-messages"))
    with pytest.raises(anthropic.APIStatusError, match="the stream ended before the answer did"):
        with sdk.messages.stream(**ASK) as stream:
            stream.get_final_message()
