"""The models that clients get, each with its upstream: what is known of them before anybody asks."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

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
from tokenmill.limits import MIB
from tokenmill.parser.spec import Format
from tokenmill.templates.rendering import Template

MISTRAL = "mistral_"
"""Formats of models whose templates refuse ids of calls that do not have nine characters."""

NINE = "length != 9"
"""The same in a template of any format."""

OPENED_BYTES = 8 * MIB
"""Of what the answers to one request open with. Each opens with all of it: whoever takes an answer over does not know
which choices are open already. It is 64 KiB of tools for each of 128."""


class Served:
    """A model, or several of one upstream that write in the same format."""

    def __init__(
        self, upstream: Upstream, format_: Format, pool: Pool, template: Template | None, parsers: ServerParsers
    ) -> None:
        self.upstream = upstream
        self.kind: Kind = find_kind(upstream.kind)
        self.format = format_
        self.pool = pool
        self.template = template
        """None: the server renders."""
        self.parsers = parsers
        self.opens_reasoning = self.kind.raw and _opens_reasoning(upstream, format_)
        self._markers = marker_texts(format_)
        self._short_ids = format_.name.startswith(MISTRAL) or (template is not None and NINE in template.text)

    def plan(self, ask: Ask, api: str, body: Json) -> Plan:
        """How a request goes to it. Raises `BadAsk` for what can't be had from it."""
        _check_tools(ask)
        if self._short_ids:
            ask = msgspec.structs.replace(ask, messages=with_short_ids(ask.messages))
        begins = self._begins(ask)
        if begins:  # the answer is a call: what its text has to be would keep the model from writing it
            ask = msgspec.structs.replace(ask, response_format=None)
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
        """Raise `BadAsk` for more answers than their tools leave room for."""
        size = len(msgspec.json.encode(self.options(ask, begins=begins)))
        if ask.n * size > OPENED_BYTES:
            most = max(1, OPENED_BYTES // size)
            detail = f"each answer repeats the tools, {size} bytes; ask for at most {most} with them"
            raise BadAsk(detail, "n", "invalid_value")

    def _begins(self, ask: Ask) -> str:
        """What raw text has to begin with, where a call is asked for: nothing else makes a model call."""
        if not self.kind.raw or ask.tool_choice not in ("required", "named"):
            return ""
        try:
            return begin_call(self.format, ask.tool)
        except BadOpen as problem:
            detail = f"{ask.model} can't be made to call a tool: {problem}; use tool_choice auto"
            raise BadAsk(detail, "tool_choice", "unsupported_value") from problem

    def options(self, ask: Ask, *, begins: bool) -> dict[str, Any]:
        """Those that the message opens with."""
        choice: Any = ask.tool_choice
        if choice == "named":
            choice = {"type": "function", "function": {"name": ask.tool}}
        return {
            "format": self.format.name,
            "model": ask.model,
            **({"tools": ask.tools} if ask.tools else {}),
            **({"tool_choice": choice} if choice != "auto" else {}),
            **({} if ask.include_usage else {"include_usage": False}),
            **({"stream_tool_input": True} if ask.stream_tool_input else {}),
            **self.upstream.open,
            **({"text_after_calls": "drop-all"} if self.kind.raw and _one_call(ask) else {}),
            **({"start": "text"} if begins else {}),
        }


def _one_call(ask: Ask) -> bool:
    """Whether what stands behind a call is dropped: SDKs say so without tools, too, where a call is an example."""
    return bool(ask.tools) and ask.parallel_tool_calls is False


def _check_tools(ask: Ask) -> None:
    """Raise `BadAsk` for tools that no worker reads: the message would not open, and its answer never come."""
    try:
        check_plain({"tools": ask.tools}, "tools")
    except Undecodable as problem:
        raise BadAsk(f"{problem}", "tools", "invalid_value") from problem


def _opens_reasoning(upstream: Upstream, format_: Format) -> bool:
    """Whether its prompts end inside of the reasoning, by what is configured or by the format's own habit."""
    return bool(upstream.open.get("start", format_.start) == "reasoning" or format_.prompt)


def served(config: Config) -> Mapping[str, Served]:
    """Every model by the name that clients call it by. Raises `ConfigError` for a template that can't be read."""
    return {name: each for number, upstream in enumerate(config.upstreams) for name, each in _models(number, upstream)}


def _models(number: int, upstream: Upstream) -> Iterator[tuple[str, Served]]:
    pool, template, parsers = Pool(upstream), None, ServerParsers(", ".join(upstream.models))
    if upstream.template_file:
        template = template_of(f"upstreams[{number}]", upstream.template_file, upstream.template_tokens)
    for name in upstream.models:
        yield name, Served(upstream, find_format(written_format(upstream, name)), pool, template, parsers)


def unknown_model(name: str, models: Mapping[str, Served]) -> BadAsk:
    """For a model that nobody serves."""
    known = ", ".join(sorted(models)[:10]) or "none: the configuration has no upstreams"
    return BadAsk(f"there is no model {name[:100]!r}; known are {known}", "model", "model_not_found")
