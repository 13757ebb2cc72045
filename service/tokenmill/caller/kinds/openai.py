"""Any server with OpenAI's chat completions, which may read calls and reasoning itself.

How long an answer may be has two names there. OpenAI's newer models refuse `max_tokens`; Ollama, llama.cpp before 2026
and others pass over `max_completion_tokens`, so that nothing ends the answer, and Mistral refuses it. Hence a server is
told by the name that it knows, whichever the client used, and by one alone: OpenAI refuses both together.

What was thought in turns before has two names, too, and is no part of OpenAI's API. DeepSeek, Kimi and others refuse a
loop of tools without it; OpenAI, Groq, Mistral and Cerebras refuse fields of messages that they do not know, and so
every turn behind a thought. Images in what a tool answers are the user's there.
"""

from collections.abc import Iterable
from itertools import groupby
from urllib.parse import urlsplit

from tokenmill.apis.ask import Json
from tokenmill.apis.chat import CHAT
from tokenmill.apis.content import text_part
from tokenmill.caller.kinds.arguments import REASONING, images_of, text_of, with_reasoning, with_short_ids
from tokenmill.caller.kinds.kind import Call, Kind, Plan, chat_body, given, own_body
from tokenmill.config import Upstream

OLD, NEW = "max_tokens", "max_completion_tokens"

NEW_AT = ("api.openai.com", "openai.azure.com")
"""Hosts, and those below them, where the new name is the one that every model takes."""

STRICT = (*NEW_AT, "api.groq.com", "api.mistral.ai", "api.cerebras.ai")
"""The same, where messages with reasoning are refused, by one name or by both, and what a tool answers is text."""

ELSEWHERE = "[its images are in the next message of the user]"
"""What such an answer says of its images."""

SHORT_IDS_AT = ("api.mistral.ai",)
"""The same, where ids of calls have nine characters."""

NONE = "none"

LEFT_OUT = frozenset({"stream", "stream_options", "model", "metadata", "store", OLD, NEW})
"""Of a client's own body: what is ours to say, and what is for the front."""

PASSED = frozenset({"prompt_cache_options", "prompt_cache_retention"})
"""What means nothing to the front, and something to OpenAI's own server."""


class OpenAI(Kind):
    """Chat completions as they come."""

    name = "openai"
    summary = "chat completions as the client asks for them: what the server has parsed already is passed on"
    raw = False

    def call(self, plan: Plan) -> Call:
        """The client's own body, where it speaks this API."""
        if plan.api == "chat" and not plan.begins:
            own = own_body(plan.body, CHAT.fields, LEFT_OUT, PASSED)
            own["messages"] = _history(plan, [*map(_passed, own["messages"], plan.ask.messages)])
            body = {**own, "model": plan.model, "stream": True, "stream_options": {"include_usage": True}}
        else:
            body = chat_body(plan, _history(plan, plan.ask.messages)) | _choice(plan)
            body.pop(OLD, None)
        return Call("/v1/chat/completions", body | given(**{_length(plan.upstream): plan.ask.max_tokens}), "sse+openai")


def _passed(own: Json, read: Json) -> Json:
    """Return a client's own message as the front reads it, without an empty list of calls, which OpenAI refuses.

    Beside calls a null content stays, which the front leaves out: DeepSeek requires the member.
    """
    told = {name: value for name, value in read.items() if name != "tool_calls" or value}
    return {"content": None} | told if "content" in own else told


def _choice(plan: Plan) -> Json:
    """The tools, and how they are to be called: OpenAI refuses words about that where there are none."""
    ask = plan.ask
    if not ask.tools:
        return {}
    named = {"type": "function", "function": {"name": ask.tool}}
    choice = named if ask.tool_choice == "named" else ask.tool_choice if ask.tool_choice != "auto" else None
    tools = ask.tools if ask.tool_choice in ("none", "named") else plan.tools
    return given(tools=tools, tool_choice=choice, parallel_tool_calls=ask.parallel_tool_calls)


def _length(upstream: Upstream) -> str:
    """By which name it is told how long an answer may be."""
    return upstream.length_field or (NEW if all(_are_at(upstream, NEW_AT)) else OLD)


def _history(plan: Plan, messages: list[Json]) -> list[Json]:
    """The conversation as the server takes it: ids, images of results, and what was thought by the name it knows."""
    upstream, strict = plan.upstream, any(_are_at(plan.upstream, STRICT))
    if any(_are_at(upstream, SHORT_IDS_AT)):
        messages = with_short_ids(messages)
    if strict:
        messages = _with_results_of_text(messages)
    name = upstream.reasoning_field or (NONE if strict else "")
    if not name:
        return messages
    told = ((each, with_reasoning(each, () if name == NONE else (name,))) for each in messages)
    return [new for old, new in told if new is old or any(new.get(field) for field in _SAYS)]


_SAYS = ("content", "refusal", "tool_calls", *REASONING)
"""Of which a message of the assistant has some."""


def _with_results_of_text(messages: list[Json]) -> list[Json]:
    """The conversation with images of results in a message of the user's, behind all results of their turn."""
    told = list[Json]()
    for of_tools, run in groupby(messages, lambda each: each["role"] == "tool"):
        turn = list(run)
        seen = [part for result in turn for part in _seen(result)] if of_tools else []
        if seen:
            turn = [*map(_of_text, turn), {"role": "user", "content": seen}]
        told += turn
    return told


def _seen(result: Json) -> list[Json]:
    """The images of a result, behind the words that say whose they are."""
    images = images_of(result)
    return [text_part(f"Images of the result of {result['tool_call_id']}:"), *images] if images else []


def _of_text(result: Json) -> Json:
    if not images_of(result):
        return result
    return result | {"content": "\n".join(filter(None, (text_of(result), ELSEWHERE)))}


def _are_at(upstream: Upstream, hosts: Iterable[str]) -> list[bool]:
    """Of each of its URLs whether it is at one of these hosts, or below one."""
    ends = tuple(f".{host}" for host in hosts)
    return [f".{urlsplit(url).hostname}".endswith(ends) for url in upstream.urls]


OPENAI = OpenAI()
