"""Any server with OpenAI's chat completions API, which may parse calls and reasoning itself.

The limit of an answer's length has two names. OpenAI's newer models refuse `max_tokens`; Ollama, llama.cpp before 2026
and others ignore `max_completion_tokens`, so that nothing limits the answer, and Mistral refuses it. So the request has
the name that the server knows, whichever the client used, and only that one: OpenAI refuses both together.

The reasoning of earlier turns has two names, too, and is not part of OpenAI's API. DeepSeek, Kimi and others refuse a
loop of tool calls without it; OpenAI, Groq, Mistral and Cerebras refuse messages with unknown fields, and so would
refuse every turn after one with reasoning. For them, images in a tool's result move to a message of the user.
"""

from collections.abc import Iterable
from itertools import groupby
from urllib.parse import urlsplit

from tokenmill.apis.ask import Json
from tokenmill.apis.chat import CHAT
from tokenmill.apis.content import text_part
from tokenmill.apis.tools import FUNCTION
from tokenmill.caller.kinds.arguments import REASONING, images_of, text_of, with_reasoning, with_short_ids
from tokenmill.caller.kinds.kind import Call, Kind, Plan, chat_body, given, own_body
from tokenmill.caller.kinds.raw_text import one_system
from tokenmill.config import Upstream

OLD, NEW = "max_tokens", "max_completion_tokens"

NEW_AT = ("api.openai.com", "openai.azure.com")
"""Hosts whose models all take the new name, and those of their subdomains."""

STRICT = (*NEW_AT, "api.groq.com", "api.mistral.ai", "api.cerebras.ai")
"""Hosts that refuse messages with reasoning, by one name or by both, and take only text as a tool's result.

They take several system messages, in any place.
"""

ELSEWHERE = "[its images are in the next message of the user]"
"""Text that replaces the images in a tool's result."""

SHORT_IDS_AT = ("api.mistral.ai",)
"""Hosts that require ids of calls with nine characters."""

NONE = "none"
"""Value of `upstreams.reasoning_field` for servers that take no reasoning."""

LEFT_OUT = frozenset({"stream", "stream_options", "model", "metadata", "store", OLD, NEW})
"""Fields of a client's own body that are set here, or are for the front only."""

PASSED = frozenset({"prompt_cache_options", "prompt_cache_retention"})
"""Fields that have no effect in the front, and one in OpenAI's own server."""


class OpenAI(Kind):
    """Requests for chat completions; what the server has parsed is passed on."""

    name = "openai"
    summary = "chat completions as the client asks for them: what the server has parsed already is passed on"
    raw = False

    def call(self, plan: Plan) -> Call:
        """Return the streamed request; the client's own body, if the client speaks this API."""
        if plan.api == "chat" and not plan.begins:
            own = _with_functions(plan, own_body(plan.body, CHAT.fields, LEFT_OUT, PASSED))
            own["messages"] = _history(plan, [*map(_passed, own["messages"], plan.ask.messages)])
            body = {**own, "model": plan.model, "stream": True, "stream_options": {"include_usage": True}}
        else:
            body = chat_body(plan, _history(plan, _translated(plan))) | _choice(plan)
            body.pop(OLD, None)
        return Call("/v1/chat/completions", body | given(**{_length(plan.upstream): plan.ask.max_tokens}), "sse+openai")


def _translated(plan: Plan) -> list[Json]:
    """Return the messages of a client that speaks another API, with one system message where it may need to be one.

    Responses and Messages have instructions in several places. Hosted models take them there; open models' templates,
    which a server such as vLLM renders, mostly refuse or drop a second one, and do not know the role `developer`.
    """
    passes = plan.api == "chat" or any(_are_at(plan.upstream, STRICT))
    return plan.ask.messages if passes else one_system(plan.ask.messages)


def _with_functions(plan: Plan, own: Json) -> Json:
    """Return a client's own body with functions in place of tools that take a text, which few servers know.

    What is read of an answer, and the history, has calls of functions alone.
    """
    if all(tool["type"] == FUNCTION for tool in own.get("tools", ())):
        return own
    return {name: value for name, value in own.items() if name != "tool_choice"} | _choice(plan)


def _passed(own: Json, read: Json) -> Json:
    """Return a client's own message as the front reads it, without an empty list of calls, which OpenAI refuses.

    A null content, which the front leaves out, is kept: DeepSeek requires the member beside calls.
    """
    message = {name: value for name, value in read.items() if name != "tool_calls" or value}
    return {"content": None} | message if "content" in own else message


def _choice(plan: Plan) -> Json:
    """Return the fields about tools; none without tools, as OpenAI refuses them then."""
    ask = plan.ask
    if not ask.tools:
        return {}
    named = {"type": "function", "function": {"name": ask.tool}}
    choice = named if ask.tool_choice == "named" else ask.tool_choice if ask.tool_choice != "auto" else None
    tools = ask.tools if ask.tool_choice in ("none", "named") else plan.tools
    return given(tools=tools, tool_choice=choice, parallel_tool_calls=ask.parallel_tool_calls)


def _length(upstream: Upstream) -> str:
    """Return the server's name for the limit of an answer's length."""
    return upstream.length_field or (NEW if all(_are_at(upstream, NEW_AT)) else OLD)


def _history(plan: Plan, messages: list[Json]) -> list[Json]:
    """Return the conversation with ids, images of results and reasoning as the server takes them."""
    upstream, strict = plan.upstream, any(_are_at(plan.upstream, STRICT))
    if any(_are_at(upstream, SHORT_IDS_AT)):
        messages = with_short_ids(messages)
    if strict:
        messages = _with_results_of_text(messages)
    name = upstream.reasoning_field or (NONE if strict else "")
    if not name:
        return messages
    changes = ((each, with_reasoning(each, () if name == NONE else (name,))) for each in messages)
    return [new for old, new in changes if new is old or any(new.get(field) for field in _CONTENTS)]


_CONTENTS = ("content", "refusal", "tool_calls", *REASONING)
"""Members of an assistant's message; one that has lost all of them is left out."""


def _with_results_of_text(messages: list[Json]) -> list[Json]:
    """Return messages in which images of results are in a message of the user, after all results of their turn."""
    changed = list[Json]()
    for of_tools, run in groupby(messages, lambda each: each["role"] == "tool"):
        turn = list(run)
        images = [part for result in turn for part in _labeled_images(result)] if of_tools else []
        if images:
            turn = [*map(_without_images, turn), {"role": "user", "content": images}]
        changed += turn
    return changed


def _labeled_images(result: Json) -> list[Json]:
    """Return the images of a result, after a text that names its call."""
    images = images_of(result)
    return [text_part(f"Images of the result of {result['tool_call_id']}:"), *images] if images else []


def _without_images(result: Json) -> Json:
    if not images_of(result):
        return result
    return result | {"content": "\n".join(filter(None, (text_of(result), ELSEWHERE)))}


def _are_at(upstream: Upstream, hosts: Iterable[str]) -> list[bool]:
    """Return for each URL of an upstream whether it is at one of these hosts, or a subdomain of one."""
    ends = tuple(f".{host}" for host in hosts)
    return [f".{urlsplit(url).hostname}".endswith(ends) for url in upstream.urls]


OPENAI = OpenAI()
