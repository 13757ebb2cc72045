"""For how long a server asks not to be asked again."""

import pytest

from tokenmill.caller.retry_after import retry_after

NOW = 1_760_000_000.0
"""Thu, 09 Oct 2025 08:53:20 GMT."""


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2.0),
        ({"retry-after": "Thu, 09 Oct 2025 08:53:32 GMT"}, 12.0),
        ({"retry-after": "Thu, 09 Oct 2025 08:53:08 GMT"}, 0.0),
        ({"retry-after": "Thu, 09 Oct 99999 08:53:08 GMT"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
    ],
)
def test_seconds_and_dates_are_read(headers: dict[str, str], seconds: float | None) -> None:
    """What is over is no wait; what can't be read says nothing."""
    assert retry_after(headers, NOW) == seconds
