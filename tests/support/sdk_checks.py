"""What has to be true of a tool loop, whichever SDK ran it: by itself, beside the library's, and at the server."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.model_servers.serving import Generation
from tests.support.sdk_loops import LOOP, MODELS, NAMES, RESULTS, Model
from tests.support.sdk_stack import SdkStack, asked_of, usage_of

Turns = Sequence[Mapping[str, Any]]

REASONS = {
    "chat": ("tool_calls", "stop"),
    "responses": ("completed", "completed"),
    "messages": ("tool_use", "end_turn"),
    "ai": ("tool-calls", "stop"),
}
"""How an API tells that there are calls, and that there are none."""

OWN = frozenset({"id", "call_id", "item_id", "toolCallId", "created", "created_at", "completed_at", "usage"})
"""Members that are another answer's own."""

SHORT_ID = re.compile("[A-Za-z0-9]{9}")


def check_shown(turns: Turns, model: Model, api: str) -> None:
    """What the SDK shows is what the model said."""
    assert len(turns) == len(LOOP)
    for turn, said in zip(turns, LOOP, strict=True):
        assert turn["text"].strip() == said.text
        if turn["reasoning"] is not None:  # some clients do not show it
            assert turn["reasoning"].strip() == (said.thought if model.thinks else "")
        calls = [(call["name"], call["arguments"]) for call in turn["calls"]]
        assert calls == ([(said.tool, said.arguments)] if said.tool else [])
        assert turn["reason"] == REASONS[api][0 if said.tool else 1]
    ids = [call["id"] for turn in turns for call in turn["calls"]]
    assert len(set(ids)) == len(ids)


def check_direct(turns: Turns, direct: Turns, model: Model) -> None:
    """It is what the same SDK shows of the library's answers, all but ids, times and counts."""
    for ours, theirs in zip(turns, direct, strict=True):
        assert without_own(ours["message"]) == without_own(theirs["message"])
        shown = ("text", "reasoning", "reason")
        assert [ours[name] for name in shown] == [theirs[name] for name in shown]
        if model.own_ids:
            assert ours["calls"] == theirs["calls"]


def without_own(value: Any) -> Any:
    """A message without what no other one has."""
    if isinstance(value, dict):
        return {name: without_own(each) for name, each in value.items() if name not in OWN}
    return [without_own(each) for each in value] if isinstance(value, list) else value


def check_server(stack: SdkStack, name: str, question: str, turns: Turns) -> None:
    """The model's server generated once for each turn, raw, with tools and the whole conversation in the prompt."""
    model, generations = MODELS[name], stack.generations(name, question)
    assert len(generations) == len(turns)
    for number, (generation, turn) in enumerate(zip(generations, turns, strict=True)):
        check_raw(model, generation)
        shown = asked_of(generation.body)
        assert [tool["function"]["name"] for tool in shown["tools"]] == NAMES
        check_history(shown["messages"], turns[:number], question, model)
        assert tuple(turn["usage"]) == usage_of(generation)


def check_raw(model: Model, generation: Generation) -> None:
    """Nothing is parsed there, and no marker is dropped."""
    body = generation.body
    paths = {"llama.cpp": "/completion", "ollama": "/api/generate", "completions": "/v1/completions"}
    assert generation.path == paths.get(model.kind, "/v1/chat/completions")
    assert body["stream"] is True
    if model.kind in ("vllm", "sglang"):
        assert generation.tools_shown == NAMES
        assert body["tool_choice"] == ("none" if model.kind == "vllm" else "auto")
    if model.kind == "llama.cpp":
        assert set(model.markers) <= set(body["preserved_tokens"])
    elif model.kind == "ollama":
        assert (body["raw"], body["think"]) == (True, False)
    else:
        assert body["skip_special_tokens"] is False


def check_history(messages: Sequence[Mapping[str, Any]], before: Turns, question: str, model: Model) -> None:
    """The conversation so far, with the calls and results under the ids that the client was told, or short ones."""
    first, *rest = messages
    assert first["role"] == "user"
    assert question in json.dumps(first["content"])
    assert [message["role"] for message in rest] == ["assistant", "tool"] * len(before)
    for number, turn in enumerate(before):
        said, result = rest[2 * number : 2 * number + 2]
        assert (said.get("content") or "").strip() == LOOP[number].text
        (made,) = said["tool_calls"]
        (call,) = turn["calls"]
        assert made["id"] == result["tool_call_id"]
        if model.format.startswith("mistral_"):  # whose templates take no other ids
            assert SHORT_ID.fullmatch(made["id"])
        else:
            assert made["id"] == call["id"]
        assert made["function"]["name"] == call["name"]
        assert _object(made["function"]["arguments"]) == call["arguments"]
        assert result["content"] == RESULTS[number]
        if model.kind == "ollama":
            assert result["tool_name"] == call["name"]


def _object(arguments: Any) -> Any:
    """Text in OpenAI's shape, an object in prompts."""
    return json.loads(arguments) if isinstance(arguments, str) else arguments
