"""Anthropic's Messages API, and servers that speak it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tokenmill.apis.ask import Ask, Json
from tokenmill.apis.chat import NO_EFFORT
from tokenmill.apis.messages import MESSAGES
from tokenmill.apis.namespaces import with_one_name
from tokenmill.apis.reading import Node
from tokenmill.apis.record import BETAS
from tokenmill.apis.responses_input import read_input, whole_items
from tokenmill.caller.kinds.arguments import fitted, read_arguments, text_of, text_of_part
from tokenmill.caller.kinds.kind import HINTS, Call, Kind, Plan, given, own_body, single, unsupported

VERSION = "2023-06-01"
"""The API's version, which every request names."""

TAKEN = frozenset({"top_k"})
"""Fields beyond those of `Ask` that the API takes."""

EFFORTS = {"minimal": "low", NO_EFFORT: None}
"""Efforts of OpenAI that the API lacks → its own. Without an effort it thinks only if asked to."""

FIT_ID, ID_CHARS = re.compile("[A-Za-z0-9_-]+"), 24
"""Ids of calls that the API takes, and characters of the hash that replaces any other id."""

OURS = frozenset({"stream", "model", "metadata"})
"""Fields of a client's own body that are replaced here."""

PASSED = frozenset({"cache_control"})
"""Fields that have no effect in the front, and one in the API."""


class Anthropic(Kind):
    """Requests to the Messages API; what the server has parsed is passed on."""

    name = "anthropic"
    summary = "Anthropic's Messages: what the server has parsed already is passed on"
    raw = False

    def check(self, plan: Plan) -> None:
        """Raise `BadAsk` for a field that the API does not have."""
        single(plan)
        if plan.api == "messages":
            return
        ask = plan.ask
        fields: dict[str, Any] = {
            "response_format": None if _format(ask) else ask.response_format,
            "seed": ask.seed,
            "presence_penalty": ask.presence_penalty,
            "frequency_penalty": ask.frequency_penalty,
            **{name: value for name, value in ask.forwarded.items() if name not in TAKEN | HINTS},
        }
        for name, value in fields.items():
            if value is not None:
                raise unsupported(plan, name, ask.model)

    def call(self, plan: Plan) -> Call:
        """Return the streamed request; the client's own body, if the client speaks this API."""
        if plan.api == "messages":
            own = own_body(plan.body, MESSAGES.fields, OURS, PASSED)
            own["messages"] = [turn for message in own["messages"] if (turn := _own_turn(message)) is not None]
            body = {**own, **_metadata(plan.body), "model": plan.model, "stream": True}
            return Call("/v1/messages", body, "sse+anthropic", {BETAS: plan.betas} if plan.betas else {})
        ask = plan.ask
        body = {
            **{name: value for name, value in ask.forwarded.items() if name in TAKEN},
            "model": plan.model,
            "max_tokens": ask.max_tokens or plan.upstream.default_max_tokens,
            **given(
                system=_system(ask.messages), temperature=ask.temperature, top_p=ask.top_p, stop_sequences=ask.stop
            ),
            "messages": _messages(_conversation(plan)),
            **_output(ask),
            **given(tools=[_tool(tool["function"]) for tool in ask.tools], tool_choice=_choice(plan)),
            "stream": True,
        }
        return Call("/v1/messages", body, "sse+anthropic")

    def headers(self, api_key: str) -> Mapping[str, str]:
        """Return the headers of every request: the key, in this API's own header, and the API's version."""
        return {"anthropic-version": VERSION, **({"x-api-key": api_key} if api_key else {})}


def _metadata(body: Json) -> Json:
    """Return `metadata` with `user_id` alone, if the client gave one: the API refuses the front's other members."""
    user = (body.get("metadata") or {}).get("user_id")
    return {} if user is None else {"metadata": {"user_id": user}}


def _own_turn(message: Json) -> Json | None:
    """Return a turn of a client's own body, with ids that fit; None if nothing is left of it.

    An assistant's turn loses blocks that a model wrote and this API refuses: blank text, and thinking without a
    signature.
    """
    content = message.get("content") or []
    if isinstance(content, str):
        return message if content.strip() or message["role"] != "assistant" else None
    blocks = [_with_fit_id(block) for block in content if message["role"] != "assistant" or _is_taken(block)]
    return message | {"content": blocks} if blocks else None


def _is_taken(block: Json) -> bool:
    """Whether the API takes a block of an assistant's turn."""
    if block["type"] == "thinking":
        return bool(block.get("signature"))
    return block["type"] != "text" or bool(block["text"].strip())


def _with_fit_id(block: Json) -> Json:
    """Return a call or result, with an id that the API takes."""
    for name in ("id", "tool_use_id"):
        block = fitted(block, name, FIT_ID, ID_CHARS)
    return block


def _output(ask: Ask) -> Json:
    """Return the fields for the reasoning effort and for the answer's shape."""
    effort = ask.reasoning_effort
    output = given(effort=EFFORTS.get(effort, effort) if effort else None, format=_format(ask))
    return {"output_config": output} if output else {}


def _format(ask: Ask) -> Json | None:
    """Return the answer's JSON schema as a format; None if there is none, or no schema."""
    shape = (ask.response_format or {}).get("json_schema")
    return {"type": "json_schema", "schema": shape["schema"]} if shape else None


def _conversation(plan: Plan) -> Iterator[Json]:
    """Yield the messages of the conversation; for the Responses API, those of each item.

    Reasoning has a signature in each item, and the API checks its position; the messages of a chat can't express that.
    """
    items = plan.body.get("input") if plan.api == "responses" else None
    if not isinstance(items, list):
        yield from plan.ask.messages
        return
    for item in whole_items(items):
        if item.get("type") == "reasoning":
            yield {"role": "reasoning", "content": _thinking(item)}
        else:
            yield from read_input(with_one_name(Node([item])))


def _thinking(item: Json) -> list[Json]:
    """Return the thinking block of a reasoning item; none if it has no signature, as the API would refuse it."""
    text, signature = "".join(part["text"] for part in item.get("content") or ()), item.get("encrypted_content")
    if not (text and signature and isinstance(signature, str)):
        return []
    return [{"type": "thinking", "thinking": text, "signature": signature}]


def _system(messages: list[Json]) -> list[Json]:
    return [block for message in messages if message["role"] in ("system", "developer") for block in _blocks(message)]


def _messages(messages: Iterable[Json]) -> list[Json]:
    """Return the turns of user and assistant. Results of calls are the user's; neighbors of one role are one turn."""
    turns, thinking = list[Json](), list[Json]()
    for message in messages:
        if message["role"] in ("system", "developer"):
            continue
        if message["role"] == "reasoning":
            thinking += message["content"]
            continue
        role = "assistant" if message["role"] == "assistant" else "user"
        blocks = [_result(message)] if message["role"] == "tool" else _blocks(message)
        if not blocks:
            continue  # an answer with nothing but reasoning: the API refuses a turn without content
        if role == "assistant":
            blocks = thinking + blocks
        thinking = []  # before a user's turn it would end the assistant's turn, which the API refuses
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    return turns


def _blocks(message: Json) -> list[Json]:
    """Return a message's content and calls as blocks, without blank text, which the API refuses."""
    content = message.get("content")
    parts = content if isinstance(content, list) and content else [{"type": "text", "text": text_of(message)}]
    calls = [_use(call) for call in message.get("tool_calls") or ()]
    return [_part(part) for part in parts if part.get("type") == "image_url" or text_of_part(part).strip()] + calls


def _part(part: Json) -> Json:
    if part.get("type") == "image_url":
        url: str = part["image_url"]["url"]
        head, _, data = url.partition(";base64,")
        embedded = {"type": "base64", "media_type": head.partition(":")[2], "data": data}
        return {"type": "image", "source": embedded if data else {"type": "url", "url": url}}
    return {"type": "text", "text": text_of_part(part)}


def _use(call: Json) -> Json:
    function = call["function"]
    arguments = read_arguments(function.get("arguments", "{}"))
    return _with_fit_id({"type": "tool_use", "id": call.get("id", ""), "name": function["name"], "input": arguments})


def _result(message: Json) -> Json:
    return _with_fit_id({"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": _blocks(message)})


def _tool(function: Json) -> Json:
    schema = function.get("parameters") or {"type": "object", "properties": {}}
    words = given(description=function.get("description"), strict=function.get("strict"))
    return {"name": function["name"], **words, "input_schema": schema}


def _choice(plan: Plan) -> Json | None:
    """Return the tool choice; None if there are no tools."""
    ask = plan.ask
    if not ask.tools:
        return None
    words = {"auto": "auto", "none": "none", "required": "any", "named": "tool"}
    choice: Json = {"type": words[ask.tool_choice], **given(name=ask.tool or None)}
    if ask.parallel_tool_calls is not None and ask.tool_choice != "none":
        choice["disable_parallel_tool_use"] = not ask.parallel_tool_calls
    return choice


ANTHROPIC = Anthropic()
