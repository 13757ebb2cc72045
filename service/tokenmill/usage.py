"""Token counts of all providers, under uniform names.

A native `finish` has `usage` as the provider gave it, and `tokens`, which mean the same for all. Dialects of other
providers need the counts under other names with other meanings: some count cached input and reasoning separately, some
within the totals.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from msgspec import UNSET, UnsetType

from tokenmill.events import TokenCounts

Names: TypeAlias = tuple[str, ...]
"""Counts that are added up; a dot stands for a nested field."""


class Tokens(NamedTuple):
    """Counts of tokens of one answer."""

    input: int
    """All input, cached or not."""
    output: int
    """All output, including reasoning."""
    total: int
    reasoning: int
    """Part of `output`."""
    cached: int
    """Part of `input` that was read from a cache."""
    cache_written: int
    """Part of `input` that was written to a cache."""


class _Names(NamedTuple):
    """Names of the counts in one family of providers."""

    input: Names
    output: Names
    total: Names
    reasoning: Names
    cached: Names
    cache_written: Names = ()


_FAMILIES = (
    _Names(  # OpenAI chat completions
        input=("prompt_tokens",),
        output=("completion_tokens",),
        total=("total_tokens",),
        reasoning=("completion_tokens_details.reasoning_tokens",),
        cached=("prompt_tokens_details.cached_tokens",),
        cache_written=("prompt_tokens_details.cache_write_tokens",),
    ),
    _Names(  # OpenAI Responses; Anthropic, whose input does not include cached tokens
        input=("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
        output=("output_tokens",),
        total=("total_tokens",),
        reasoning=("output_tokens_details.reasoning_tokens", "output_tokens_details.thinking_tokens"),
        cached=("input_tokens_details.cached_tokens", "cache_read_input_tokens"),
        cache_written=("input_tokens_details.cache_write_tokens", "cache_creation_input_tokens"),
    ),
    _Names(  # Gemini, whose candidates do not include thoughts
        input=("promptTokenCount", "toolUsePromptTokenCount"),
        output=("candidatesTokenCount", "thoughtsTokenCount"),
        total=("totalTokenCount",),
        reasoning=("thoughtsTokenCount",),
        cached=("cachedContentTokenCount",),
    ),
    _Names(  # Bedrock, whose input does not include cached tokens; the AI SDK
        input=("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"),
        output=("outputTokens",),
        total=("totalTokens",),
        reasoning=("reasoningTokens",),
        cached=("cacheReadInputTokens", "cachedInputTokens"),
        cache_written=("cacheWriteInputTokens",),
    ),
    _Names(  # Ollama
        input=("prompt_eval_count",),
        output=("eval_count",),
        total=(),
        reasoning=(),
        cached=(),
    ),
)


def counted(usage: Mapping[str, Any]) -> TokenCounts | UnsetType:
    """The counts for a native `finish`; unset if no known names are found."""
    if (family := _family(usage)) is None:
        return UNSET
    counts = _read(usage, family)
    return TokenCounts(counts.input, counts.output, counts.reasoning, counts.cached)


def tokens(usage: Mapping[str, Any]) -> Tokens:
    """The counts; 0 if the provider gave none. Never raises: an invalid count is 0."""
    return _read(usage, _family(usage) or _FAMILIES[0])


def _read(usage: Mapping[str, Any], names: _Names) -> Tokens:
    read = _sum(usage, names.input)
    written = _sum(usage, names.output)
    return Tokens(
        input=read,
        output=written,
        total=_sum(usage, names.total) or read + written,
        reasoning=_sum(usage, names.reasoning),
        cached=_sum(usage, names.cached),
        cache_written=_sum(usage, names.cache_written),
    )


def _family(usage: Mapping[str, Any]) -> _Names | None:
    """The family whose names the counts have; None if it is unknown."""
    return next((each for each in _FAMILIES if any(name in usage for name in (*each.input, *each.output))), None)


def _sum(usage: Mapping[str, Any], names: Names) -> int:
    return sum(_count(usage, name) for name in names)


def _count(usage: Mapping[str, Any], name: str) -> int:
    value: Any = usage
    for step in name.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
