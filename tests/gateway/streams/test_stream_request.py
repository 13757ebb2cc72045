"""What a request asks for, checked before anything is done for it."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.gateway.event_log.position import Position
from tokenmill.gateway.problems import Refused
from tokenmill.gateway.streams.framing import LINES, SSE
from tokenmill.gateway.streams.stream_request import StreamRequest, read_request
from tokenmill.limits import KEY_BYTES

ID = "0.00000000000000000042.00001~7"


class Request(NamedTuple):
    query: dict[str, str] = {}
    headers: dict[str, str] = {}


def of(conversation: str = "c", headers: dict[str, str] | None = None, **query: str) -> StreamRequest:
    return read_request(
        Request({name.rstrip("_"): value for name, value in query.items()}, headers or {}), conversation
    )


def test_little_has_to_be_said() -> None:
    """What comes from now on, native, as server-sent events, without an end."""
    plain = of("grün")
    assert (plain.key, plain.dialect.name, plain.framing, plain.start) == ("grün".encode(), "native", SSE, "now")
    assert (plain.until_finish, plain.comes_back, plain.folded) == (False, False, False)


def test_everything_can_be_said() -> None:
    """In the query; the form of the answer by `Accept`."""
    full = of(headers={"accept": "application/x-ndjson"}, dialect="openai", from_="start", until="finish")
    assert (full.framing, full.dialect.name, full.start, full.until_finish) == (LINES, "openai", "start", True)
    assert of(from_=ID).start == Position(0, 42, 1, 7)
    assert not of(from_=ID).comes_back


def test_the_last_id_goes_before_the_place_in_the_address() -> None:
    """An EventSource comes back to the same address; the header is its own, the query a page's."""
    for request in (of(headers={"last-event-id": ID}, from_="start"), of(last_event_id=ID, from_="now")):
        assert (request.start, request.comes_back) == (Position(0, 42, 1, 7), True)
    assert of(headers={"last-event-id": ""}, from_="start").start == "start"


@pytest.mark.parametrize(
    ("problem", "query"),
    [
        ("bad-position", {"from_": "yesterday"}),
        ("bad-position", {"from_": ""}),
        ("bad-position", {"last_event_id": "start"}),
        ("bad-position", {"last_event_id": "9" * 9_999}),
        ("unknown-dialect", {"dialect": "klingon\r\nset-cookie: x"}),
        ("bad-request", {"until": "dawn"}),
        ("bad-request", {"replay": "backwards"}),
        ("bad-request", {"conversation": ""}),
        ("bad-request", {"conversation": "x" * (KEY_BYTES + 1)}),
        ("bad-request", {"conversation": "\ud800"}),
    ],
)
def test_what_is_wrong_is_refused_with_what_to_change(problem: str, query: dict[str, str]) -> None:
    """In a sentence that quotes little, and nothing that could control a terminal."""
    with pytest.raises(Refused) as refused:
        of(query.pop("conversation", "c"), None, **query)
    assert refused.value.kind.name == problem
    assert refused.value.kind.status == 400
    assert refused.value.detail.isprintable()
    assert len(refused.value.detail) < 400
    assert refused.value.body()


@given(st.text(), st.dictionaries(st.sampled_from(["dialect", "from", "until", "replay", "last_event_id"]), st.text()))
def test_any_request_is_understood_or_refused(conversation: str, query: dict[str, str]) -> None:
    """Never anything else."""
    refused: Refused | None = None
    try:
        found = read_request(Request(query, {}), conversation)
    except Refused as problem:
        refused = problem
    if refused is None:
        assert found.key.decode() == conversation
    else:
        assert (refused.kind.status, b"detail" in refused.body()) == (400, True)
