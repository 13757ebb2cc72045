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
    compiled = _remembered(pattern) if len(pattern) <= PATTERN_CHARS else None
    try:
        return compiled is not None and bool(compiled.is_valid(text))
    except ValueError:  # text that can't be encoded
        return False


def compiled_for(schema: dict[str, Any]) -> Any:
    """What holds values against a schema. Raises `ValueError` or another error if the library can't read it."""
    import jsonschema_rs  # noqa: PLC0415 -- a quarter of the time of `import tokenmill`, for who has no schemas

    return jsonschema_rs.validator_for(schema, offline=True, pattern_options=jsonschema_rs.RegexOptions())


def compiled_pattern(pattern: str) -> Any:
    """What finds a pattern in a text; None if the engine refuses it."""
    try:
        return compiled_for({"pattern": pattern})
    except ValueError:
        return None


_remembered = lru_cache(maxsize=256)(compiled_pattern)
