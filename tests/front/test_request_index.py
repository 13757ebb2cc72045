"""What is known of the requests of the last minutes."""

import time
from typing import Any

import msgspec
import pytest
from aiokafka import ConsumerRecord

from tests.support.clock import Clock
from tokenmill.apis.record import CONVERSATION_BYTES, LeftRecord, ReaderRecord, RequestRecord, StoppedRecord
from tokenmill.front import request_index
from tokenmill.front.request_index import RequestIndex
from tokenmill.gen.front_row import FRONT
from tokenmill.limits import MODEL_CHARS
from tokenmill.observe import FRONT_METRICS

KEEP_MS = 1_000

CLOCK = Clock()
"""By which records are read."""


def record(message_id: str, at: int = 0, key: bytes | None = b"c", **fields: Any) -> ConsumerRecord:
    request = RequestRecord(
        message_id=message_id,
        **{"api": "chat", "body": msgspec.Raw(b"{}"), "fingerprint": "f", "until": at + 1, **fields},
    )
    return of_value(msgspec.json.encode(request), at, key)


def of_value(value: bytes | None, at: int = 0, key: bytes | None = b"c") -> ConsumerRecord:
    return ConsumerRecord("requests", 0, at, at, 0, key, value, None, 0, 0, ())


def keyed(message_id: str, at: int = 0, attempt: int = 0) -> ConsumerRecord:
    value = RequestRecord(
        message_id=message_id,
        api="chat",
        body=msgspec.Raw(b"{}"),
        fingerprint="f",
        until=at + 1,
        key="k",
        attempt=attempt,
    )
    return of_value(msgspec.json.encode(value), at)


def index(*records: ConsumerRecord) -> RequestIndex:
    made = RequestIndex(KEEP_MS / 1000, clock=CLOCK)
    for each in records:
        take(made, each)
    return made


def take(made: RequestIndex, each: ConsumerRecord) -> None:
    """Take a record as soon as it is written."""
    CLOCK.now = each.timestamp / 1000
    made.take(each)


def ids(found: object) -> str | None:
    return getattr(found, "message_id", None)


def test_a_request_is_found_by_its_id_its_key_and_what_it_asks() -> None:
    """With the conversation that its record's key is."""
    found = index(record("a", key=b"chat-7"))
    known = found.by_id("a")
    assert known is not None
    assert (known.conversation, known.api, known.attempt) == ("chat-7", "chat", 0)
    assert ids(found.by_fingerprint("f", 0)) == "a"
    assert found.by_id("b") is found.by_key("k") is found.by_fingerprint("g", 0) is None


def test_of_a_key_the_first_record_of_each_attempt_counts() -> None:
    """The last attempt is the one that a request with the key is."""
    made = index(keyed("a"), keyed("b"), keyed("c", attempt=1))
    assert ids(made.by_key("k", 0)) == "a"
    assert ids(made.by_key("k")) == "c"
    assert made.by_id("b") is None


def test_a_later_attempt_outlives_the_first() -> None:
    """Each is forgotten at its own time, and the last one is the one that a request with the key is."""
    made = index(keyed("a", 0), keyed("b", 500, attempt=1), record("c", KEEP_MS + 1))
    assert (made.by_key("k", 0), ids(made.by_key("k"))) == (None, "b")
    take(made, record("d", 2 * KEEP_MS))
    assert made.by_key("k") is made.by_key("k", 1) is None


def test_a_key_that_comes_when_it_should_be_forgotten_is_new() -> None:
    """No other request need come between: callers, who read the same records, take it for a new one."""
    made = index(keyed("a", 0), keyed("b", KEEP_MS + 1))
    assert (ids(made.by_key("k", 0)), ids(made.by_key("k")), len(made)) == ("b", "b", 1)


def test_records_of_other_clocks_make_nothing_old() -> None:
    """Neither those of another front, nor this one's own after its clock was set: it would call models again for
    requests that are known, or wait for an answer that no caller gives. They are forgotten like the others.
    """
    made = index(keyed("a", 400))
    for each in (record("b", 400 + 10 * KEEP_MS), record("c", 0)):
        made.take(each)
    assert (ids(made.by_key("k")), len(made)) == ("a", 3)
    take(made, record("d", 401 + KEEP_MS))
    assert (ids(made.by_id("d")), len(made)) == ("d", 1)


def test_no_request_is_of_the_future() -> None:
    """Its answer, which has the time of another clock, would be looked for too late in the log."""
    known = index(record("a", 2**42)).by_id("a")
    assert known is not None
    assert known.time_ms <= time.time() * 1000


def test_a_retry_means_one_request_or_none() -> None:
    """Two clicks with the same body can't be told apart; an attempt behind a failed one can."""
    assert ids(index(record("a"), record("b", 1)).by_fingerprint("f", 0)) is None
    assert ids(index(record("a"), record("b", 1, attempt=1)).by_fingerprint("f", 0)) == "b"
    assert ids(index(record("a", 5)).by_fingerprint("f", 6)) is None
    assert ids(index(record("a"), record("a", 1)).by_fingerprint("f", 0)) == "a"  # one that was written twice


def test_nothing_is_left_of_what_is_forgotten() -> None:
    """A front runs for months, and each request asks for something else."""
    made = index(keyed("a"), record("b", fingerprint="g"), record("c", KEEP_MS + 1, fingerprint="h"))
    assert {name: len(each) for name, each in vars(made).items() if isinstance(each, dict) and each} == {
        "_by_id": 1,
        "_by_fingerprint": 1,
    }


def test_who_reads_along_is_told_of() -> None:
    """By the conversation and the id of the answer."""
    heard: list[tuple[str, str]] = []
    made = RequestIndex(KEEP_MS / 1000, lambda *who: heard.append(who))
    for other in (LeftRecord("a"), StoppedRecord("a")):
        made.take(of_value(msgspec.json.encode(other)))
    assert heard == []
    made.take(of_value(msgspec.json.encode(ReaderRecord("a"))))
    assert heard == [("c", "a")]
    assert len(made) == 0


def test_who_is_left_by_its_readers_is_told_of() -> None:
    """By the conversation and the id of the answer."""
    heard: list[tuple[str, str]] = []
    made = RequestIndex(KEEP_MS / 1000, left=lambda *who: heard.append(who))
    for other in (ReaderRecord("a"), StoppedRecord("a")):
        made.take(of_value(msgspec.json.encode(other)))
    assert heard == []
    made.take(of_value(msgspec.json.encode(LeftRecord("a"))))
    assert heard == [("c", "a")]
    assert len(made) == 0


def test_what_was_stopped_is_known_until_its_request_is_forgotten() -> None:
    """A stop by a client outweighs one for lack of a reader; one of another conversation is none."""
    made = index(record("a"), *(of_value(msgspec.json.encode(each("a"))) for each in (ReaderRecord, LeftRecord)))
    assert made.stopped("a") is None
    for stopped, key, abandoned in (
        (StoppedRecord("a", abandoned=True), b"other", None),
        (StoppedRecord("b", abandoned=True), b"c", None),
        (StoppedRecord("a", abandoned=True), b"c", True),
        (StoppedRecord("a"), b"c", False),
        (StoppedRecord("a", abandoned=True), b"c", False),
    ):
        made.take(of_value(msgspec.json.encode(stopped), key=key))
        found = made.stopped("a")
        assert (found and found.abandoned, made.stopped("b")) == (abandoned, None)
    take(made, record("c", KEEP_MS + 1))
    assert made.stopped("a") is None


def in_a_namespace(message_id: str, at: int = 0, tool: str = "f", **fields: Any) -> ConsumerRecord:
    """Return a request with a tool in a namespace."""
    group = {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": tool}]}
    body = msgspec.Raw(msgspec.json.encode({"model": "m", "tools": [group]}))
    return record(message_id, at, **{"api": "responses", "body": body, **fields})


def test_the_names_of_tools_are_known_as_long_as_their_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """But no more than there is room for; only Responses have namespaces."""
    made = index(in_a_namespace("a"), in_a_namespace("b", api="chat"), record("c"))
    assert made.namespaces("a") == {"n__f": ("n", "f")}
    assert made.namespaces("b") == made.namespaces("c") == made.namespaces("d") == {}
    take(made, record("d", KEEP_MS + 1))
    assert made.namespaces("a") == {}
    monkeypatch.setattr(request_index, "NAMES_BYTES", 2 * request_index.NAME_BYTES + 20)
    made = index(*(in_a_namespace(answer, tool=tool) for answer, tool in ("af", "bg", "cg", "dh", "eg")))
    assert {answer: made.namespaces(answer) for answer in "abcde"} == {
        "a": {},
        "b": {"n__g": ("n", "g")},
        "c": {"n__g": ("n", "g")},
        "d": {"n__h": ("n", "h")},
        "e": {"n__g": ("n", "g")},
    }
    assert ids(made.by_id("a")) == "a"
    take(made, record("f", KEEP_MS + 1))
    take(made, in_a_namespace("g", KEEP_MS + 1, tool="i" * 1_000))
    assert made.namespaces("g") == {}


@pytest.mark.parametrize("value", [None, b"{}", b"junk"])
def test_what_is_none_of_ours_is_passed_over(value: bytes | None) -> None:
    """Anybody may write to a topic."""
    assert len(index(of_value(value), record("a", key=None))) == 0


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_index, "KNOWN_KEPT", 2)


def test_what_is_old_is_forgotten() -> None:
    """Whole, so that nothing piles up."""
    made = index(record("a", 0), record("b", KEEP_MS + 1))
    assert (made.by_id("a"), ids(made.by_id("b")), len(made)) == (None, "b", 1)
    assert ids(made.by_fingerprint("f", 0)) == "b"


@pytest.mark.usefixtures("small")
def test_only_so_many_are_known() -> None:
    """A flood of requests costs a bounded amount of memory."""
    made = index(*(record(f"m{number}", number, fingerprint=f"f{number}") for number in range(5)))
    assert len(made) == 2
    assert (made.by_fingerprint("f0", 0), ids(made.by_fingerprint("f4", 0))) == (None, "m4")


def test_operators_are_told_when_requests_are_forgotten_early() -> None:
    """What the metric says of the bound, and where its panel is red, is the bound."""
    (known,) = [metric for metric in FRONT_METRICS if metric.name == "tokenmill_front_known_requests"]
    assert f"At {request_index.KNOWN_KEPT:,} the oldest are forgotten" in known.help
    (panel,) = [panel for panel in FRONT.panels if panel.title == "Known requests"]
    assert panel.red == request_index.KNOWN_KEPT


def test_what_is_kept_of_a_request_is_short() -> None:
    """Anybody may write to the topic: a key that is no conversation's is passed over, the name of a model is cut."""
    body = msgspec.Raw(b'{"model":"%b"}' % (b"m" * 100_000))
    found = index(record("a", key=b"x" * (CONVERSATION_BYTES + 1)), record("b", key=b"\xff"), record("c", body=body))
    assert (found.by_id("a"), found.by_id("b")) == (None, None)
    found = index(record("c", api="responses", body=body))
    known = found.by_id("c")
    assert known is not None
    assert len(known.model) == MODEL_CHARS
