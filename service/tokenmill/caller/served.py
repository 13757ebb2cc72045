"""The models that clients may ask for, each with its upstream, format, template and pool of URLs."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tokenmill.apis import MESSAGES
from tokenmill.apis.ask import Ask, BadAsk, Json
from tokenmill.caller.kinds import Kind, Plan, find_kind
from tokenmill.caller.kinds.arguments import with_short_ids
from tokenmill.caller.kinds.kind import text_only
from tokenmill.caller.kinds.raw_text import check_end, check_shape
from tokenmill.caller.pool import Pool
from tokenmill.caller.renderer import template_of
from tokenmill.caller.server_parsers import ServerParsers
from tokenmill.codecs.plain import check_plain
from tokenmill.config import Config, Upstream
from tokenmill.config.upstreams import written_format
from tokenmill.errors import BadOpen, Undecodable
from tokenmill.formats import find_format
from tokenmill.formats.history import begin_call
from tokenmill.formats.marker_texts import marker_texts
from tokenmill.limits import DETAIL_BYTES, MIB
from tokenmill.parser.options import refused
from tokenmill.parser.spec import Format
from tokenmill.templates.rendering import Template

MISTRAL = "mistral_"
"""Beginning of the names of formats whose models' templates refuse call ids that do not have nine characters."""

NINE = "length != 9"
"""Text by which a template of any other format shows that it does the same."""

OPENED_BYTES = 8 * MIB
"""Bytes of the options that open all choices of one request: 64 KiB of tools for each of 128. Every choice has all of
them, as a caller that takes the answer over does not know which choices are open already."""


class Served:
    """A model of one upstream: checks requests for it, and plans how to ask the upstream."""

    def __init__(
        self, upstream: Upstream, format_: Format, pool: Pool, template: Template | None, parsers: ServerParsers
    ) -> None:
        self.upstream = upstream
        self.kind: Kind = find_kind(upstream.kind)
        self.format = format_
        self.pool = pool
        self.template = template
        """The chat template that is rendered here; None if the server renders."""
        self.parsers = parsers
        self.opens_reasoning = self.kind.raw and _opens_reasoning(upstream, format_)
        self._markers = marker_texts(format_)
        self._short_ids = format_.name.startswith(MISTRAL) or (template is not None and NINE in template.text)

    def plan(self, ask: Ask, api: str, body: Json) -> Plan:
        """Return how the model is asked. Raises `BadAsk` for a request that its server can't answer."""
        _check_tools(ask)
        if self._short_ids:
            ask = msgspec.structs.replace(ask, messages=with_short_ids(ask.messages))
        begins = self._begins(ask)
        if begins:  # the answer is a call, and a shape for its text would keep the model from writing one
            ask = msgspec.structs.replace(ask, response_format=None)
        if self.kind.raw and api == MESSAGES.name and ask.response_format:
            # There an effort is about all that a model writes. Templates take it for reasoning, which no shape has.
            ask = msgspec.structs.replace(ask, reasoning_effort=None)
        plan = Plan(
            ask=ask,
            upstream=self.upstream,
            api=api,
            body=body,
            format=self.format.name,
            markers=self._markers,
            begins=begins,
            opens_reasoning=self.opens_reasoning,
        )
        if self.kind.raw:
            check_shape(plan)
            check_end(plan, continued=self.kind.continued)
        if self.template:
            text_only(plan)
        self.kind.check(plan)
        if ask.n > 1:
            self._check_opening(ask, begins=bool(begins))
        return plan

    def _check_opening(self, ask: Ask, *, begins: bool) -> None:
        """Raise `BadAsk` if the options of all choices have more than `OPENED_BYTES`."""
        size = len(msgspec.json.encode(self.options(ask, begins=begins)))
        if ask.n * size > OPENED_BYTES:
            most = max(1, OPENED_BYTES // size)
            detail = f"each choice repeats the tools, {size} bytes; with these tools, ask for at most {most}"
            raise BadAsk(detail, "n", "invalid_value")

    def _begins(self, ask: Ask) -> str:
        """Return how the raw text has to begin if a call is required: nothing else makes a model call a tool.

        Empty if no call is required, or the server sees to it. Raises `BadAsk` if the format has no such beginning.
        """
        if not self.kind.raw or ask.tool_choice not in ("required", "named"):
            return ""
        try:
            return begin_call(self.format, ask.tool)
        except BadOpen as problem:
            detail = f"{ask.model} can't be made to call a tool: {problem}; use tool_choice auto"
            raise BadAsk(detail, "tool_choice", "unsupported_value") from problem

    def options(self, ask: Ask, *, begins: bool) -> dict[str, Any]:
        """Return the options that the message opens with; `begins` is whether the prompt contains the answer's
        beginning.
        """
        choice: Any = ask.tool_choice
        if choice == "named":
            choice = {"type": "function", "function": {"name": ask.tool}}
        return {
            "format": self.format.name,
            "model": ask.model,
            **({"tools": ask.tools} if ask.tools else {}),
            **({"custom_tools": ask.custom_tools} if ask.custom_tools else {}),
            **({"tool_choice": choice} if choice != "auto" else {}),
            **({} if ask.include_usage else {"include_usage": False}),
            **({"stream_tool_input": True} if ask.stream_tool_input else {}),
            **self.upstream.open,
            **({"text_after_calls": "drop-all"} if self.kind.raw and _one_call(ask) else {}),
            **({"start": "text"} if begins else {}),
        }


def _one_call(ask: Ask) -> bool:
    """Whether only one call is wanted, so that text after it is dropped.

    SDKs set `parallel_tool_calls` also without tools; then a call in the text is an example, and nothing is dropped.
    """
    return bool(ask.tools) and ask.parallel_tool_calls is False


def _check_tools(ask: Ask) -> None:
    """Raise `BadAsk` for tools that workers reject: the message would never open, and the client wait in vain."""
    try:
        check_plain({"tools": ask.tools}, "tools")
    except Undecodable as problem:
        raise BadAsk(f"{problem}", "tools", "invalid_value") from problem
    if refused("custom_tools", ask.custom_tools):
        told = f"`tools` holds too many custom tools: their names may have {DETAIL_BYTES} characters in all."
        raise BadAsk(told, "tools", "invalid_value")


def _opens_reasoning(upstream: Upstream, format_: Format) -> bool:
    """Whether prompts end inside the reasoning, by the upstream's `open.start` or by the format's default."""
    return bool(upstream.open.get("start", format_.start) == "reasoning" or format_.prompt)


def served(config: Config) -> Mapping[str, Served]:
    """Return each model by the name that clients use. Raises `ConfigError` for a template that can't be read."""
    return {name: each for number, upstream in enumerate(config.upstreams) for name, each in _models(number, upstream)}


def _models(number: int, upstream: Upstream) -> Iterator[tuple[str, Served]]:
    pool, template, parsers = Pool(upstream), None, ServerParsers(", ".join(upstream.models))
    if upstream.template_file:
        template = template_of(f"upstreams[{number}]", upstream.template_file, upstream.template_tokens)
    for name in upstream.models:
        yield name, Served(upstream, find_format(written_format(upstream, name)), pool, template, parsers)


def unknown_model(name: str, models: Mapping[str, Served]) -> BadAsk:
    """Return the refusal of a request for a model that is not configured, with the names of ten that are."""
    known = ", ".join(sorted(models)[:10]) or "none: the configuration has no upstreams"
    return BadAsk(f"there is no model {name[:100]!r}; known are {known}", "model", "model_not_found")
