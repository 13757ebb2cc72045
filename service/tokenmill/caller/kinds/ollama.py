"""Ollama: it renders the prompt, and completes it raw.

Ollama 0.17.4 (`server/routes.go`): its chat API always parses calls, and no option turns that off. `/api/generate` with
`raw` completes a prompt as it is, and writes special tokens. The prompt comes from the template that is configured
here, or from `/api/chat` with `_debug_render_only`, which is undocumented. With `think: false` it does not look for
reasoning.
"""

from collections.abc import Mapping

import msgspec

from tokenmill.apis.ask import BadAsk, Json
from tokenmill.caller.kinds.arguments import images_of, read_arguments, reasoning_of, text_of
from tokenmill.caller.kinds.kind import HINTS, Call, Kind, Plan, choosing, found_in, given, single, unsupported
from tokenmill.caller.kinds.raw_text import one_system, thinks

OPTIONS = frozenset({"top_k", "min_p", "typical_p", "repeat_penalty", "repeat_last_n", "num_ctx", "num_keep"})
"""Fields beyond those of `Ask` that it takes as options."""

VARIABLES = frozenset({"chat_template_kwargs"})
"""Field with variables for a template that is rendered here; Ollama's own templates take none."""

LEVELS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "high", "max": "high"}
"""Efforts → values of `think`, which only gpt-oss has."""


class _Info(msgspec.Struct):
    """The debug information in a response with the prompt."""

    rendered_template: str | None = None


class _Rendered(msgspec.Struct):
    """A response with the prompt."""

    info: _Info | None = msgspec.field(default=None, name="_debug_info")


class Ollama(Kind):
    """Two requests: one for the prompt, one for its completion."""

    name = "ollama"
    summary = "`/api/generate` with `raw`, after a prompt of `template_file` or of Ollama's own (`_debug_render_only`)"

    def check(self, plan: Plan) -> None:
        """Raise `BadAsk` for fields and images that it does not take."""
        single(plan)
        taken = OPTIONS | HINTS | (VARIABLES if plan.upstream.template_file else frozenset())
        for name in plan.ask.forwarded:
            if name not in taken:
                raise unsupported(plan, name, "Ollama")
        if any(";base64," not in url for url in _urls(plan.ask.messages)):
            detail = "Ollama takes images only as data URLs in base64; embed them"
            raise BadAsk(detail, plan.name_of("messages"), "unsupported_value")

    def rendering(self, plan: Plan) -> Call | None:
        """Return the request by which the server renders the prompt by its own template, without running a model."""
        return Call(
            "/api/chat",
            {
                "model": plan.model,
                "messages": _messages(plan.ask.messages),
                **given(tools=plan.tools, think=_think(plan)),
                "_debug_render_only": True,
                "stream": False,
            },
        )

    def prompt_of(self, answer: bytes) -> str | None:
        """Return the prompt in the response; None if it has none. Raises `NOT_JSON`."""
        found = found_in(answer, _Rendered)
        return found.info.rendered_template if found and found.info else None

    def call(self, plan: Plan) -> Call:
        """Return the streamed completion of the prompt."""
        ask = plan.ask
        options = {
            **{name: value for name, value in ask.forwarded.items() if name in OPTIONS},
            **choosing(ask),
            **given(num_predict=ask.max_tokens),
        }
        body = {
            "model": plan.model,
            "prompt": f"{plan.prompt}{plan.begins}",
            "raw": True,
            "think": False,
            **given(format=_format(ask.response_format), images=_images(ask.messages)),
            **({"options": options} if options else {}),
            "stream": True,
        }
        return Call("/api/generate", body, "sse+ollama")


def _think(plan: Plan) -> bool | str | None:
    """Return how much the model is to think; None if that is up to it: other models than gpt-oss have no levels."""
    if not thinks(plan):
        return False
    return LEVELS.get(plan.ask.reasoning_effort or "") if plan.format == "harmony" else None


def _format(response_format: Json | None) -> Json | str | None:
    if response_format is None or response_format.get("type") == "text":
        return None
    return response_format.get("json_schema", {}).get("schema") or "json"


def _messages(messages: list[Json]) -> list[Json]:
    """Return the conversation in Ollama's shape. A result gets its tool's name, which some templates write."""
    names = {call["id"]: call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()}
    return [_message(message, names) for message in one_system(messages)]


def _message(message: Json, names: Mapping[str, str]) -> Json:
    """Return a message in Ollama's shape: images apart from the text, arguments as objects, results with tool names."""
    calls = [_call(call) for call in message.get("tool_calls", ())]
    called = message.get("tool_call_id")
    return {
        "role": message["role"],
        "content": text_of(message),
        **given(
            images=_images([message]),
            tool_calls=calls,
            thinking=reasoning_of(message),
            tool_call_id=called,
            tool_name=names.get(called or ""),
        ),
    }


def _call(call: Json) -> Json:
    return {**given(id=call.get("id")), "function": _function(call["function"])}


def _function(function: Json) -> Json:
    return {"name": function["name"], "arguments": read_arguments(function.get("arguments", "{}"))}


def _images(messages: list[Json]) -> list[str]:
    """Return the images of messages in base64. `check` has refused others."""
    return [url.partition(";base64,")[2] for url in _urls(messages)]


def _urls(messages: list[Json]) -> list[str]:
    return [part["image_url"]["url"] for message in messages for part in images_of(message)]


OLLAMA = Ollama()
