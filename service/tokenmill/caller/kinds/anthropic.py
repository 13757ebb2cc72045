"""Anthropic's Messages, and servers that speak it."""

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
from tokenmill.caller.kinds.arguments import fitted, read_arguments, said_by, text_of
from tokenmill.caller.kinds.kind import HINTS, Call, Kind, Plan, given, own_body, single, unsupported

VERSION = "2023-06-01"

TAKEN = frozenset({"top_k"})
"""What else it takes."""

EFFORTS = {"minimal": "low", NO_EFFORT: None}
"""Words of OpenAI's that it does not have: it thinks if it is asked to."""

FIT_ID, ID_CHARS = re.compile("[A-Za-z0-9_-]+"), 24
"""What it takes for the id of a call, and how long a hash is that stands in the place of another."""

OURS = frozenset({"stream", "model", "metadata"})
"""Fields of a client's own body that are set here."""

PASSED = frozenset({"cache_control"})
"""Fields without effect here that mean something to that API."""


class Anthropic(Kind):
    """Messages as they come."""

    name = "anthropic"
    summary = "Anthropic's Messages: what the server has parsed already is passed on"
    raw = False

    def check(self, plan: Plan) -> None:
        """What that API has no word for is refused by name."""
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
        """The client's own body, where it speaks this API."""
        if plan.api == "messages":
            own = own_body(plan.body, MESSAGES.fields, OURS, PASSED)
            own["messages"] = [told for message in own["messages"] if (told := _spoken(message)) is not None]
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
        """A key of its own header, and the version of the API."""
        return {"anthropic-version": VERSION, **({"x-api-key": api_key} if api_key else {})}


def _metadata(body: Json) -> Json:
    """The one word of them that this API knows: it refuses what is for the front."""
    user = (body.get("metadata") or {}).get("user_id")
    return {} if user is None else {"metadata": {"user_id": user}}


def _spoken(message: Json) -> Json | None:
    """A turn of a client's own body, with ids that fit; None: it says nothing.

    The assistant's is without what its model wrote and this API refuses: blank texts, and thinking that nobody signed.
    """
    content = message.get("content") or []
    if isinstance(content, str):
        return message if content.strip() or message["role"] != "assistant" else None
    blocks = [_with_fit_id(block) for block in content if message["role"] != "assistant" or _is_taken(block)]
    return message | {"content": blocks} if blocks else None


def _is_taken(block: Json) -> bool:
    """Whether a block of the assistant's is not refused."""
    if block["type"] == "thinking":
        return bool(block.get("signature"))
    return block["type"] != "text" or bool(block["text"].strip())


def _with_fit_id(block: Json) -> Json:
    """A call or a result with an id that is taken."""
    for name in ("id", "tool_use_id"):
        block = fitted(block, name, FIT_ID, ID_CHARS)
    return block


def _output(ask: Ask) -> Json:
    """How much effort the answer is worth, and its shape."""
    effort = ask.reasoning_effort
    output = given(effort=EFFORTS.get(effort, effort) if effort else None, format=_format(ask))
    return {"output_config": output} if output else {}


def _format(ask: Ask) -> Json | None:
    """The shape of an answer; None: any, or one that this API has no word for."""
    shape = (ask.response_format or {}).get("json_schema")
    return {"type": "json_schema", "schema": shape["schema"]} if shape else None


def _conversation(plan: Plan) -> Iterator[Json]:
    """The messages; of Responses one for each item.

    What was thought is signed item by item, and that API checks where it stands; a chat has no place for that.
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
    """What was thought, if it is signed: else it is refused."""
    text, signature = "".join(part["text"] for part in item.get("content") or ()), item.get("encrypted_content")
    if not (text and signature and isinstance(signature, str)):
        return []
    return [{"type": "thinking", "thinking": text, "signature": signature}]


def _system(messages: list[Json]) -> list[Json]:
    return [block for message in messages if message["role"] in ("system", "developer") for block in _blocks(message)]


def _messages(messages: Iterable[Json]) -> list[Json]:
    """Turns of user and assistant; results of calls are the user's, and neighbours are one turn."""
    turns, thought = list[Json](), list[Json]()
    for message in messages:
        if message["role"] in ("system", "developer"):
            continue
        if message["role"] == "reasoning":
            thought += message["content"]
            continue
        role = "assistant" if message["role"] == "assistant" else "user"
        blocks = [_result(message)] if message["role"] == "tool" else _blocks(message)
        if not blocks:
            continue  # as an answer that was reasoning alone: a turn without content is refused
        if role == "assistant":
            blocks = thought + blocks
        thought = []  # in front of the user's it would be the end of a turn, which is refused
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    return turns


def _blocks(message: Json) -> list[Json]:
    """What a message says; texts that are empty or blank are refused."""
    content = message.get("content")
    parts = content if isinstance(content, list) and content else [{"type": "text", "text": text_of(message)}]
    calls = [_use(call) for call in message.get("tool_calls") or ()]
    return [_part(part) for part in parts if part.get("type") == "image_url" or said_by(part).strip()] + calls


def _part(part: Json) -> Json:
    if part.get("type") == "image_url":
        url: str = part["image_url"]["url"]
        head, _, data = url.partition(";base64,")
        embedded = {"type": "base64", "media_type": head.partition(":")[2], "data": data}
        return {"type": "image", "source": embedded if data else {"type": "url", "url": url}}
    return {"type": "text", "text": said_by(part)}


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
    """How calls are asked for; nothing where there are no tools."""
    ask = plan.ask
    if not ask.tools:
        return None
    words = {"auto": "auto", "none": "none", "required": "any", "named": "tool"}
    choice: Json = {"type": words[ask.tool_choice], **given(name=ask.tool or None)}
    if ask.parallel_tool_calls is not None and ask.tool_choice != "none":
        choice["disable_parallel_tool_use"] = not ask.parallel_tool_calls
    return choice


ANTHROPIC = Anthropic()
