"""The process in which a template runs: requests as JSON on the standard input, renderings on the output.

It renders one request and ends. With `--serve SECONDS` it writes a line when it is ready, renders one request per line,
and ends if one takes that long. A template gets what transformers gives it: the filter `tojson`, `raise_exception`,
`strftime_now`, `break` and `continue` in loops, and the tag `generation`, which marks the model's part and means
nothing here. The date is that of the request, in seconds since the epoch, and constant where it has none.
"""

import json
import re
import resource
import signal
import sys
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NoReturn

MEMORY_BYTES = 1 << 30
"""Bytes of memory of the process: far more than templates need, and no more than a machine can spare."""

RENDERED_CHARS = 1 << 20
"""Characters of one rendering: a conversation has a few thousand."""

_GENERATION = re.compile(r"(\{%[-+]?)\s*(end)?generation\s*([-+]?%\})")

_NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


TEMPLATES_KEPT = 16
"""Compiled templates that are kept: those of the models that one process serves."""


class Unusable(Exception):
    """The template can't be compiled."""


class Refused(Exception):
    """The template refuses to render a conversation."""


def main() -> None:
    """Render every conversation of the request: for each its text, or what went wrong."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    if sys.argv[1:2] == ["--serve"]:
        _serve(float(sys.argv[2]))
        return
    request = json.load(sys.stdin)
    cpu_s = request["cpu_s"]
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s))
    json.dump(_rendered(request["template"], request["conversations"]), sys.stdout)


def _serve(limit_s: float) -> None:
    """Render one request per line. The caller may be gone, so the time of each request is limited here, too."""
    _compiled("")  # so that the first request, too, takes only the time of its rendering
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        signal.setitimer(signal.ITIMER_REAL, limit_s)  # the signal ends the process
        sys.stdout.write(json.dumps(_rendered(**json.loads(line))) + "\n")
        sys.stdout.flush()
        signal.setitimer(signal.ITIMER_REAL, 0)


def _rendered(template: str, conversations: list[dict[str, Any]], time: float | None = None) -> list[dict[str, str]]:
    try:
        compiled = _compiled(template)
    except Unusable as problem:
        return [{"problem": f"no template: {problem}"}] * len(conversations)
    now = _NOW if time is None else datetime.fromtimestamp(time, UTC)
    return [_one(compiled, {"strftime_now": now.strftime, **conversation}) for conversation in conversations]


@lru_cache(maxsize=TEMPLATES_KEPT)
def _compiled(source: str) -> Any:
    from jinja2 import TemplateError  # noqa: PLC0415 -- the extra `templates`; the parent says what is missing
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415 -- as above

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _to_json
    environment.globals |= {"raise_exception": _refuse}
    try:
        return environment.from_string(_GENERATION.sub(_as_condition, source))
    except TemplateError as problem:
        raise Unusable(str(problem)) from problem


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
