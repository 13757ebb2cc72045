"""What clients say that they have."""

import pytest
from aiohttp.test_utils import make_mocked_request

from tokenmill.gateway.http.request_values import has_etag


@pytest.mark.parametrize(
    ("said", "has"),
    [
        ('"a1"', True),
        ('W/"a1"', True),
        ('"b2", W/"a1"', True),
        ("*", True),
        ('"b2"', False),
        ("a1", False),
        ("", False),
        (None, False),
    ],
)
def test_a_tag_may_be_weak_and_one_of_several(said: str | None, has: bool) -> None:
    """Caches and proxies keep them so."""
    request = make_mocked_request("GET", "/", headers={} if said is None else {"if-none-match": said})
    assert has_etag(request, '"a1"') == has
