"""What `message-start` says of the request: the options that dialects ask for, and of the tools what they have to know.

It is in every message, so it has a cap. Above that the tools are said with less: without what `describe_tools` adds,
then by name alone, then only as many as there is room for. A dialect that misses a tool's types waits for the complete
call; a tool that is not named counts as unknown to those that show whether it is.
"""

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from tokenmill.events import DeclaredTool, Request
from tokenmill.limits import KIB, PAYLOAD_BYTES, Limits
from tokenmill.parser.options import Options
from tokenmill.parser.run.tools import Tool

TOOLS_BYTES = 64 * KIB
"""Of all tools without descriptions: some hundred large ones; a reader gets them with each message."""

DESCRIBED_BYTES = 64 * KIB
"""Of one tool with its description and schema, beside which a call's arguments have to fit an output record."""

ALL_DESCRIBED_BYTES = 256 * KIB
"""Of all of them: a quarter of the default of an output record."""

_SAME = tuple(name for name in Request.__struct_fields__ if name not in ("tools", "payload_bytes"))


def request_of(options: Options, tools: Mapping[str, Tool], limits: Limits) -> Request | UnsetType:
    """What dialects ask of these options; nothing where all is as by default."""
    same = {name: getattr(options, name) for name in _SAME}
    room = min(TOOLS_BYTES, limits.payload_bytes // 4)
    payload_bytes = UNSET if limits.payload_bytes == PAYLOAD_BYTES else limits.payload_bytes
    request = Request(tools=_declared(options, tools, room), payload_bytes=payload_bytes, **same)
    return UNSET if request == Request() else request


def _declared(options: Options, tools: Mapping[str, Tool], room: int) -> dict[str, DeclaredTool]:
    plain = {name: DeclaredTool(_types(tool), tool.others) for name, tool in tools.items()}
    if _size(plain) > room:
        plain = _by_name(tools, room)
    elif options.describe_tools:
        described = _described(options, plain)
        if _size(described) <= ALL_DESCRIBED_BYTES // TOOLS_BYTES * room:
            return described
    return plain


def _types(tool: Tool) -> dict[str, list[str]]:
    return {name: sorted(tool.types(name)) for name in sorted(tool.parameters) if tool.has(name)}


def _by_name(tools: Mapping[str, Tool], room: int) -> dict[str, DeclaredTool]:
    sizes = accumulate(_size({name: DeclaredTool()}) for name in tools)
    return {name: DeclaredTool() for name, size in zip(tools, sizes, strict=True) if size <= room}


def _described(options: Options, plain: Mapping[str, DeclaredTool]) -> dict[str, DeclaredTool]:
    """The tools with what is declared of them; one that is too large goes without, the call does not."""
    described = dict(plain)
    for entry in options.tools:
        function = entry.get("function", entry)
        name = function.get("name") if isinstance(function, Mapping) else None
        if isinstance(name, str) and name in plain:
            tool = msgspec.structs.replace(plain[name], **_said(function))
            described[name] = tool if _size(tool) <= DESCRIBED_BYTES else plain[name]
    return described


def _said(function: Mapping[str, Any]) -> dict[str, Any]:
    description, parameters = function.get("description"), function.get("parameters")
    return {
        "description": description if isinstance(description, str) else UNSET,
        "parameters": dict(parameters) if isinstance(parameters, Mapping) else UNSET,
    }


def _size(tools: Any) -> int:
    """Bytes as JSON."""
    return len(msgspec.json.encode(tools))
