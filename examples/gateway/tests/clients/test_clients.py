"""Official clients over the gateway over recorded vendors: every client's wire with every vendor's."""

import json

import anthropic
import openai
import pytest
from google import genai
from google.genai import types
from vendors import DATA, WIRES, Gateway, Vendors, recordings, streamed, whole

HERE = DATA.is_dir()
TOOL = {"type": "object", "properties": {}, "additionalProperties": True}


@pytest.fixture(scope="module")
def vendors():
    return Vendors()


@pytest.fixture(scope="module")
def gateway(vendors, tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("gateway"), vendors)
    yield gateway
    assert gateway.close() == 0


def chosen(wire: str) -> "list[tuple[str, str, bool, str, list]]":
    """Name, body, whether it is streamed, text, calls: a few of each kind, each another text."""
    found, kinds = [], {}
    for one in recordings(wire) if HERE else []:
        body = one["response"]["body"]
        is_stream = not body.startswith("{")
        try:
            text, calls = streamed(wire, body) if is_stream else whole(wire, json.loads(body))
        except (KeyError, IndexError, json.JSONDecodeError):
            continue
        kind = (is_stream, bool(calls), bool(text))
        if not (text or calls) or kinds.get(kind, 0) >= 3:
            continue
        kinds[kind] = kinds.get(kind, 0) + 1
        found.append((one["name"], body, is_stream, text, calls))
    return found


CASES = [(wire, *case) for wire in WIRES for case in chosen(wire)]
NAMES = [f"{wire}:{name}" for wire, name, *_ in CASES]


def test_recordings_are_here():
    import os

    if not HERE and os.environ.get("CI"):
        pytest.fail("recordings are missing")
    if HERE:
        assert len(CASES) >= 24 and {case[0] for case in CASES} == set(WIRES)


def same(found_text, found_calls, text, calls):
    assert found_text.strip() == text.strip()
    assert [(name, args) for name, args in found_calls] == calls


def tools(calls):
    return list(dict.fromkeys(name for name, _ in calls)) or ["some_tool"]


@pytest.mark.parametrize(("wire", "name", "body", "is_stream", "text", "calls"), CASES, ids=NAMES)
class TestClients:
    def test_chat(self, vendors, gateway, wire, name, body, is_stream, text, calls):
        client = openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="any", max_retries=0)
        vendors.say(body)
        listed = [{"type": "function", "function": {"name": n, "parameters": TOOL}} for n in tools(calls)]
        asked = {"model": f"{wire}/m", "messages": [{"role": "user", "content": "hi"}], "tools": listed}
        if is_stream:
            with client.chat.completions.stream(**asked) as stream:
                for _ in stream:
                    pass
                message = stream.get_final_completion().choices[0].message
        else:
            message = client.chat.completions.create(**asked).choices[0].message
        found = [(c.function.name, json.loads(c.function.arguments or "{}")) for c in message.tool_calls or []]
        same(message.content or "", found, text, calls)
        sent = vendors.heard[-1]
        assert "any" not in str(sent["headers"]) and "x-stainless-lang" not in {k.lower() for k in sent["headers"]}

    def test_responses(self, vendors, gateway, wire, name, body, is_stream, text, calls):
        client = openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="any", max_retries=0)
        vendors.say(body)
        listed = [{"type": "function", "name": n, "parameters": TOOL, "strict": False} for n in tools(calls)]
        asked = {"model": f"{wire}/m", "input": "hi", "tools": listed}
        if is_stream:
            with client.responses.stream(**asked) as stream:
                for _ in stream:
                    pass
                response = stream.get_final_response()
        else:
            response = client.responses.create(**asked)
        found = [(i.name, json.loads(i.arguments or "{}")) for i in response.output if i.type == "function_call"]
        same(response.output_text, found, text, calls)

    def test_messages(self, vendors, gateway, wire, name, body, is_stream, text, calls):
        client = anthropic.Anthropic(base_url=gateway.url, api_key="any", max_retries=0)
        vendors.say(body)
        listed = [{"name": n, "input_schema": TOOL} for n in tools(calls)]
        asked = {"model": f"{wire}/m", "max_tokens": 900, "messages": [{"role": "user", "content": "hi"}], "tools": listed}
        if is_stream:
            with client.messages.stream(**asked) as stream:
                message = stream.get_final_message()
        else:
            message = client.messages.create(**asked)
        said = "".join(block.text for block in message.content if block.type == "text")
        found = [(block.name, block.input) for block in message.content if block.type == "tool_use"]
        same(said, found, text, calls)

    def test_gemini(self, vendors, gateway, wire, name, body, is_stream, text, calls):
        client = genai.Client(api_key="any", http_options=types.HttpOptions(base_url=gateway.url))
        vendors.say(body)
        declared = [types.FunctionDeclaration(name=n, parameters_json_schema=TOOL) for n in tools(calls)]
        config = types.GenerateContentConfig(
            tools=[types.Tool(function_declarations=declared)],
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        )
        asked = {"model": f"{wire}/m", "contents": "hi", "config": config}
        if is_stream:
            replies = list(client.models.generate_content_stream(**asked))
        else:
            replies = [client.models.generate_content(**asked)]
        parts = [p for r in replies for c in (r.candidates or [])[:1] for p in (c.content.parts if c.content else None) or []]
        said = "".join(p.text for p in parts if p.text and not p.thought)
        found = [(p.function_call.name, p.function_call.args or {}) for p in parts if p.function_call]
        same(said, found, text, calls)


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_errors_are_the_clients_own(vendors, gateway, status):
    body = json.dumps({"error": {"message": "no", "type": "x", "code": "y"}})
    wanted = {400: "BadRequestError", 429: "RateLimitError"}
    calls = []
    for _ in range(3):
        vendors.say(body, status)
    chat = openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="any", max_retries=0)
    message = anthropic.Anthropic(base_url=gateway.url, api_key="any", max_retries=0)
    for error, call in [
        (openai.APIStatusError, lambda: chat.chat.completions.create(model="openai-chat/err", messages=[{"role": "user", "content": "x"}])),
        (anthropic.APIStatusError, lambda: message.messages.create(model="openai-chat/err2", max_tokens=5, messages=[{"role": "user", "content": "x"}])),
    ]:
        with pytest.raises(error) as raised:
            call()
        calls.append(type(raised.value).__name__)
        assert raised.value.request_id.startswith("req_")
    vendors.next.clear()
    if status in wanted:
        assert calls[0] == wanted[status]


def test_models_and_counts(gateway):
    client = openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="any", max_retries=0)
    assert "auto" in [model.id for model in client.models.list()]
    counter = anthropic.Anthropic(base_url=gateway.url, api_key="any", max_retries=0)
    counted = counter.messages.count_tokens(model="openai-chat/m", messages=[{"role": "user", "content": "one two three"}])
    assert counted.input_tokens > 0
