"""Providers' reasons and the native ones."""

import pytest

from tokenmill.finish_reasons import finish_reason


@pytest.mark.parametrize(
    ("raw", "called", "expected"),
    [
        ("stop", False, "stop"),
        ("stop", True, "tool-calls"),
        (None, True, "tool-calls"),
        (None, False, "stop"),
        ("weird", True, "tool-calls"),
        ("weird", False, "stop"),
        ("tool_calls", False, "tool-calls"),
        ("tool_use", True, "tool-calls"),
        ("length", True, "length"),
        ("MAX_TOKENS", False, "length"),
        ("content_filter", True, "content-filter"),
        ("SAFETY", False, "content-filter"),
        ("cancelled", True, "cancelled"),
        ("timeout", True, "timeout"),
        ("error", True, "error"),
        ("PROHIBITED_CONTENT", False, "content-filter"),
        ("content_filtered", True, "content-filter"),
        ("model_context_window_exceeded", True, "length"),
        ("MALFORMED_FUNCTION_CALL", False, "error"),
        ("MISSING_THOUGHT_SIGNATURE", False, "error"),
        ("network_error", True, "error"),
        ("sensitive", False, "content-filter"),
        ("ERROR_TOXIC", False, "content-filter"),
        ("ERROR_LIMIT", False, "length"),
        ("repetition", True, "length"),
        ("USER_CANCEL", False, "cancelled"),
    ],
)
def test_finish_reason(raw: str | None, called: bool, expected: str) -> None:  # a parameter of the table
    """A call makes a plain, absent or unknown reason `tool-calls`; every other reason stands."""
    assert finish_reason(raw, called=called) == expected
