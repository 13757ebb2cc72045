"""Token counts of every provider, as one thing."""

from typing import Any

import pytest
from msgspec import UNSET

from tokenmill.events import TokenCounts
from tokenmill.usage import Tokens, counted, tokens


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}, Tokens(5, 7, 12, 0, 0, 0)),
        (
            {
                "prompt_tokens": 5,
                "completion_tokens": 7,
                "total_tokens": 12,
                "completion_tokens_details": {"reasoning_tokens": 3},
                "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1},
            },
            Tokens(5, 7, 12, 3, 4, 1),
        ),
        (
            {
                "input_tokens": 5,
                "output_tokens": 7,
                "total_tokens": 12,
                "input_tokens_details": {"cached_tokens": 4},
                "output_tokens_details": {"reasoning_tokens": 3},
            },
            Tokens(5, 7, 12, 3, 4, 0),
        ),
        (
            {
                "input_tokens": 5,
                "output_tokens": 7,
                "cache_read_input_tokens": 100,
                "cache_creation_input_tokens": 10,
            },
            Tokens(115, 7, 122, 0, 100, 10),
        ),
        (
            {
                "promptTokenCount": 5,
                "candidatesTokenCount": 4,
                "thoughtsTokenCount": 2,
                "cachedContentTokenCount": 3,
                "totalTokenCount": 11,
            },
            Tokens(5, 6, 11, 2, 3, 0),
        ),
        (
            {"inputTokens": 5, "outputTokens": 7, "totalTokens": 15, "cacheReadInputTokens": 3},
            Tokens(8, 7, 15, 0, 3, 0),
        ),
        (
            {"inputTokens": 5, "outputTokens": 7, "totalTokens": 12, "reasoningTokens": 2, "cachedInputTokens": 3},
            Tokens(5, 7, 12, 2, 3, 0),
        ),
        ({"prompt_eval_count": 5, "eval_count": 7}, Tokens(5, 7, 12, 0, 0, 0)),
        ({"output_tokens": 9}, Tokens(0, 9, 9, 0, 0, 0)),
    ],
)
def test_counts_are_read_whatever_they_are_called(usage: dict[str, Any], expected: Tokens) -> None:
    """What is counted apart by one provider is within by another; here it is always within."""
    assert tokens(usage) == expected


@pytest.mark.parametrize(
    "usage",
    [
        {},
        {"prompt_tokens": None, "completion_tokens": "7"},
        {"prompt_tokens": -1, "completion_tokens": True},
        {"prompt_tokens": {"text": 5}, "prompt_tokens_details": [1]},
        {"tokens": 4},
    ],
)
def test_what_is_no_count_counts_as_none(usage: dict[str, Any]) -> None:
    """A provider's odd usage does not break a stream."""
    assert tokens(usage) == Tokens(0, 0, 0, 0, 0, 0)


def test_counts_with_a_point_are_counts() -> None:
    """Some servers write every number so."""
    assert tokens({"prompt_tokens": 5.0, "completion_tokens": 7.5}) == Tokens(5, 0, 5, 0, 0, 0)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 7}, TokenCounts(5, 7)),
        ({"promptTokenCount": 5, "candidatesTokenCount": 7, "thoughtsTokenCount": 2}, TokenCounts(5, 9, 2)),
        ({"input_tokens": 5, "cache_read_input_tokens": 100, "output_tokens": 7}, TokenCounts(105, 7, 0, 100)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, TokenCounts()),
        ({"seconds": 3}, UNSET),
        ({}, UNSET),
    ],
)
def test_a_finish_counts_what_is_known(usage: dict[str, Any], expected: object) -> None:
    """The same for every provider; without counts there are none."""
    assert counted(usage) == expected
