"""Any server with OpenAI's chat completions, which may read calls and reasoning itself.

How long an answer may be has two names there. OpenAI's newer models refuse `max_tokens`; Ollama, llama.cpp before 2026
and others pass over `max_completion_tokens`, so that nothing ends the answer, and Mistral refuses it. Hence a server is
told by the name that it knows, whichever the client used, and by one alone: OpenAI refuses both together.
"""

from urllib.parse import urlsplit

from tokenmill.apis.ask import Json
from tokenmill.caller.kinds.kind import Base, Call, Plan, chat_body, given
from tokenmill.config import Upstream

OLD, NEW = "max_tokens", "max_completion_tokens"

NEW_AT = ("api.openai.com", "openai.azure.com")
"""Hosts, and those below them, where the new name is the one that every model takes."""

LEFT_OUT = frozenset({"stream", "stream_options", "model", "metadata", "store", OLD, NEW})
"""Of a client's own body: what is ours to say, and what is for the front."""


class OpenAI(Base):
    """Chat completions as they come."""

    name = "openai"
    summary = "chat completions as the client asks for them: what the server has parsed already is passed on"
    raw = False

    def call(self, plan: Plan) -> Call:
        """The client's own body, where it speaks this API."""
        if plan.api == "chat" and not plan.begins:
            own = {name: value for name, value in plan.body.items() if name not in LEFT_OUT}
            body = {**own, "model": plan.model, "stream": True, "stream_options": {"include_usage": True}}
        else:
            body = chat_body(plan, plan.ask.messages) | _choice(plan)
            body.pop(OLD, None)
        return Call("/v1/chat/completions", body | given(**{_length(plan.upstream): plan.ask.max_tokens}), "sse+openai")


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
    hosts = (f".{urlsplit(url).hostname}" for url in upstream.urls)
    return upstream.length_field or (NEW if all(host.endswith(_NEW_ENDS) for host in hosts) else OLD)


_NEW_ENDS = tuple(f".{host}" for host in NEW_AT)


OPENAI = OpenAI()
