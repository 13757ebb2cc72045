"""The process in which a template runs: requests as JSON on the standard input, what they render on the output.

A template gets what transformers gives it: the filter `tojson`, `raise_exception`, `strftime_now`, `break` and
`continue` in loops, and the tag `generation`, which marks the model's part and means nothing here. The date is always
the same.
"""

import json
import re
import resource
import sys
from datetime import UTC, datetime
from typing import Any, NoReturn

MEMORY_BYTES = 1 << 30
"""Of the process: far more than templates need, and no more than a machine bears."""

RENDERED_CHARS = 1 << 20
"""Of one rendering: a conversation has a few thousand."""

_GENERATION = re.compile(r"(\{%[-+]?)\s*(end)?generation\s*([-+]?%\})")

_NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


class Refused(Exception):
    """The template says that it can't render a conversation."""


def main() -> None:
    """Render every conversation of the request: for each its text, or what went wrong."""
    request = json.load(sys.stdin)
    cpu_s = request["cpu_s"]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
    json.dump(_rendered(request["template"], request["conversations"]), sys.stdout)


def _rendered(source: str, conversations: list[dict[str, Any]]) -> list[dict[str, str]]:
    from jinja2 import TemplateError  # noqa: PLC0415 -- the extra `templates`; the parent says what is missing
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415 -- as above

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _to_json
    environment.globals |= {"raise_exception": _refuse, "strftime_now": _NOW.strftime}
    try:
        template = environment.from_string(_GENERATION.sub(_as_condition, source))
    except TemplateError as problem:
        return [{"problem": f"no template: {problem}"}] * len(conversations)
    return [_one(template, conversation) for conversation in conversations]


def _one(template: Any, conversation: dict[str, Any]) -> dict[str, str]:
    pieces, size = [], 0
    try:
        for piece in template.generate(**conversation):
            pieces.append(piece)
            size += len(piece)
            if size > RENDERED_CHARS:
                return {"problem": f"it renders more than {RENDERED_CHARS:,} characters"}
    except Exception as problem:  # noqa: BLE001 -- whatever a template of somebody else does wrong
        return {"problem": str(problem) or type(problem).__name__}
    return {"text": "".join(pieces)}


def _as_condition(tag: re.Match[str]) -> str:
    return f"{tag[1]} {'endif' if tag[2] else 'if true'} {tag[3]}"


def _to_json(
    value: Any,
    ensure_ascii: bool = False,  # noqa: FBT001, FBT002 -- as transformers has it
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,  # noqa: FBT001, FBT002 -- as above
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _refuse(message: str) -> NoReturn:
    raise Refused(message)


if __name__ == "__main__":
    main()
