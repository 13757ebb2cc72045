"""Regular expressions that come from outside, in schemas: matched in linear time, whatever they are.

The library that checks schemas brings such an engine. A pattern that it refuses (one that looks around or back, or is
no pattern) matches nothing.
"""

from functools import lru_cache
from typing import Any

PATTERN_CHARS = 1024
"""A pattern before it is none: compiled ones take memory."""


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern is found in the text, as JSON Schema means it."""
    compiled = _compiled(pattern) if len(pattern) <= PATTERN_CHARS else None
    try:
        return compiled is not None and bool(compiled.is_valid(text))
    except ValueError:  # text that can't be encoded
        return False


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    import jsonschema_rs  # noqa: PLC0415 -- a quarter of the time of `import tokenmill`, for who has no schemas

    try:
        return jsonschema_rs.validator_for({"pattern": pattern}, pattern_options=jsonschema_rs.RegexOptions())
    except ValueError:
        return None
