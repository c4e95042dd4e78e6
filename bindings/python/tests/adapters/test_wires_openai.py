"""The official package of OpenAI reads what this project writes: whole answers strictly, streams through its helpers."""

from typing import Any

import openai
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response
from scripted import library_of
from wires import Answers, broken, check, replies, strictly, value


def client() -> "tuple[openai.OpenAI, Answers]":
    answers = Answers(library_of(openai.DefaultHttpxClient))
    return openai.OpenAI(api_key="k", base_url="http://test/v1", http_client=answers.client, max_retries=0), answers


def test_the_samples_are_read_strictly() -> None:
    """Twin: what lacks a member is refused by the strict reading."""
    sample = replies("openai-chat")[0]
    ChatCompletion.model_validate_json(sample["whole"])
    with pytest.raises(ValueError):
        ChatCompletion.model_validate_json(sample["whole"].replace('"choices"', '"others"'))


def of_chat(completion: Any) -> "tuple[str, list[tuple[str, Any]]]":
    message = completion.choices[0].message
    calls = []
    for call in message.tool_calls or []:
        if call.type == "custom":
            calls.append((call.custom.name, value(call.custom.input)))
        else:
            calls.append((call.function.name, value(call.function.arguments)))
    return (message.content or "") + (message.refusal or ""), calls


def test_chat_completions() -> None:
    sdk, answers = client()
    for sample in replies("openai-chat"):
        strictly(ChatCompletion, sample, sample["whole"])
        answers.whole(sample)
        completion = sdk.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
        check(sample, True, *of_chat(completion))


def test_chat_streams() -> None:
    sdk, answers = client()
    for sample in replies("openai-chat"):
        for line in sample["stream"].splitlines():
            if line.startswith("data: {"):
                strictly(ChatCompletionChunk, sample, line.removeprefix("data: "))
        answers.stream(sample["stream"])
        with sdk.chat.completions.stream(model="m", messages=[{"role": "user", "content": "x"}]) as stream:
            text = "".join(event.delta for event in stream if event.type == "content.delta")
            completion = stream.current_completion_snapshot
        check(sample, False, *of_chat(completion))
        if len(completion.choices) == 1:
            assert text == sample["found"]["text"], sample["name"]
        usage = sample["found"]["usage"]
        if usage and completion.usage:
            assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (usage["input"], usage["output"])


def test_a_broken_chat_stream_is_an_error() -> None:
    sdk, answers = client()
    answers.stream(broken("openai-chat"))
    with pytest.raises(openai.APIError, match="the stream ended before the answer did"):
        list(sdk.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], stream=True))


def of_response(response: Any) -> "tuple[str, list[tuple[str, Any]]]":
    text, calls = "", []
    for item in response.output:
        if item.type == "message":
            text += "".join(part.text if part.type == "output_text" else part.refusal for part in item.content)
        elif item.type == "function_call":
            calls.append((item.name, value(item.arguments)))
        elif item.type == "custom_tool_call":
            calls.append((item.name, value(item.input)))
    return text, calls


def test_responses() -> None:
    sdk, answers = client()
    for sample in replies("openai-responses"):
        strictly(Response, sample, sample["whole"])
        answers.whole(sample)
        check(sample, True, *of_response(sdk.responses.create(model="m", input="x")))


def test_response_streams() -> None:
    sdk, answers = client()
    for sample in replies("openai-responses"):
        answers.stream(sample["stream"])
        with sdk.responses.stream(model="m", input="x") as stream:
            last = [event for event in stream][-1]
        assert last.type in ("response.completed", "response.incomplete"), sample["name"]
        check(sample, False, *of_response(last.response))


def test_a_broken_response_stream_has_failed() -> None:
    sdk, answers = client()
    answers.stream(broken("openai-responses"))
    last = list(sdk.responses.create(model="m", input="x", stream=True))[-1]
    assert last.type == "response.failed" and last.response.status == "failed"
    assert last.response.error is not None and last.response.error.message == "the stream ended before the answer did"
