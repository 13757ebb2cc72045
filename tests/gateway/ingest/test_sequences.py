"""A request that a producer repeats is done once; gaps and producers that were replaced are told."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenmill.gateway.ingest import sequences
from tokenmill.gateway.ingest.sequences import ID_CHARS, LARGEST, Claim, Sequences, claim_of
from tokenmill.gateway.problems import Refused

NAMES = ("producer-id", "producer-epoch", "producer-seq")


async def ask(known: Sequences, epoch: int, seq: int, *, producer: str = "p", fails: bool = False) -> str:
    """What becomes of a request."""
    try:
        async with known.turn("c", Claim(producer, epoch, seq)) as turn:
            if turn.repeat:
                return "repeat"
            if fails:
                return "failed"
            turn.done()
            return "done"
    except Refused as refusal:
        return str(refusal.kind.status)


def test_a_claim_is_all_of_its_headers_or_none() -> None:
    """A producer that sends two of them believes that it is safe."""
    values = dict(zip(NAMES, ("p", "0", "7"), strict=True))
    assert claim_of({}) is None
    assert claim_of(values) == Claim("p", 0, 7)
    for name in NAMES:
        with pytest.raises(Refused, match="are required together"):
            claim_of({key: value for key, value in values.items() if key != name})


@pytest.mark.parametrize("number", ["", "-1", "+1", "1.0", "1e3", "\u0661", str(LARGEST + 1), "9" * 5_000])
def test_numbers_are_digits_that_every_language_keeps_exact(number: str) -> None:
    """Else two numbers might be one to somebody."""
    with pytest.raises(Refused, match="Producer-Seq must be a number"):
        claim_of(dict(zip(NAMES, ("p", "0", number), strict=True)))


def test_the_largest_number_and_the_longest_id_are_taken() -> None:
    """They are within the bounds that refusals name."""
    longest = "p" * ID_CHARS
    assert claim_of(dict(zip(NAMES, (longest, "0", str(LARGEST)), strict=True))) == Claim(longest, 0, LARGEST)


@pytest.mark.parametrize("producer", ["", "p" * (ID_CHARS + 1)])
def test_the_id_of_a_producer_is_a_short_text(producer: str) -> None:
    """It is remembered."""
    with pytest.raises(Refused, match="Producer-Id"):
        claim_of(dict(zip(NAMES, (producer, "0", "0"), strict=True)))


async def test_requests_are_done_in_their_order_and_once() -> None:
    """From 0; what is repeated is known, what skips some is refused with what is expected."""
    known = Sequences()
    asked = [(0, 1), (0, 0), (0, 0), (0, 1), (0, 0), (0, 3), (0, 2)]
    assert [await ask(known, *each) for each in asked] == ["409", "done", "repeat", "done", "repeat", "409", "done"]
    with pytest.raises(Refused) as refusal:
        async with known.turn("c", Claim("p", 0, 9)):
            pass
    assert refusal.value.headers == {"producer-expected-seq": "3", "producer-received-seq": "9"}


async def test_a_new_epoch_begins_at_0_and_ends_those_before() -> None:
    """A process that was replaced and does not know it writes nothing more."""
    known = Sequences()
    asked = [(1, 1), (1, 0), (3, 1), (3, 0), (1, 1), (3, 0), (3, 1)]
    # The first is what another gateway would go on with: it is told to begin an epoch.
    assert [await ask(known, *each) for each in asked] == ["409", "done", "400", "done", "403", "repeat", "done"]
    with pytest.raises(Refused) as refusal:
        async with known.turn("c", Claim("p", 2, 0)):
            pass
    assert (refusal.value.kind.name, refusal.value.headers) == ("stale-producer", {"producer-epoch": "3"})


async def test_what_was_not_done_may_come_again() -> None:
    """Kafka did not acknowledge it, or its body broke off."""
    known = Sequences()
    assert [await ask(known, 0, 0, fails=fails) for fails in (True, False, False)] == ["failed", "done", "repeat"]
    assert [await ask(known, 1, 0, fails=True), await ask(known, 0, 1)] == ["failed", "done"]


async def test_producers_and_conversations_count_for_themselves() -> None:
    """A producer's requests to two conversations may reach two gateways."""
    known = Sequences()
    assert [await ask(known, 0, 0, producer=name) for name in ("p", "q")] == ["done", "done"]
    async with known.turn("d", Claim("p", 0, 0)) as turn:
        assert not turn.repeat


async def test_the_answer_says_how_far_the_producer_is() -> None:
    """Also to a repeat of an older one: so one that sends several at once knows which are confirmed."""
    known = Sequences()
    for seq in range(3):
        await ask(known, 0, seq)
    async with known.turn("c", Claim("p", 0, 1)) as turn:
        turn.done()  # of a repeat it says nothing
        assert (turn.repeat, turn.headers()) == (True, {"producer-epoch": "0", "producer-seq": "2"})


async def test_requests_without_a_claim_have_no_turns() -> None:
    """Most have none."""
    async with Sequences().turn("c", None) as turn, Sequences().turn("c", None):
        turn.done()
        assert (turn.repeat, turn.headers()) == (False, {})


async def test_a_repeat_waits_for_the_request_that_it_repeats() -> None:
    """Else both would be written: a client that times out asks again while the first one waits for Kafka."""
    known = Sequences()
    async with known.turn("c", Claim("p", 0, 0)) as turn:
        again = asyncio.create_task(ask(known, 0, 0))
        await asyncio.sleep(0)
        assert not again.done()
        turn.done()
    assert await again == "repeat"


async def test_behind_a_body_that_streams_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one comes back."""
    monkeypatch.setattr(sequences, "TURN_S", 0.01)
    known = Sequences()
    async with known.turn("c", Claim("p", 0, 0)):
        assert await ask(known, 0, 1) == "429"
    assert await ask(known, 0, 0) == "done"


async def test_those_that_were_silent_for_longest_are_forgotten() -> None:
    """But never one that is in its turn. Who is forgotten begins a new epoch. Refusals leave nothing behind."""
    known = Sequences(remembered=2)
    async with known.turn("c", Claim("first", 0, 0)) as turn:
        for number in range(10):
            await ask(known, 0, number % 2, producer=f"p{number}")
        turn.done()
    assert await ask(known, 0, 1, producer="first") == "done"
    assert [await ask(known, 0, 1, producer="p0"), await ask(known, 1, 0, producer="p0")] == ["409", "done"]
    assert len(known._known) == 2


async def test_a_producer_that_goes_on_is_not_forgotten_for_newer_ones() -> None:
    """However long ago it came first."""
    known = Sequences(remembered=2)
    for producer, seq in (("old", 0), ("p1", 0), ("old", 1), ("p2", 0)):
        await ask(known, 0, seq, producer=producer)
    assert [await ask(known, 0, 2, producer="old"), await ask(known, 0, 1, producer="p1")] == ["done", "409"]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3))))
def test_each_request_is_done_at_most_once_and_in_order(asked: list[tuple[int, int]]) -> None:
    """Whatever comes in whatever order."""

    async def all_of_them() -> list[tuple[int, int]]:
        known = Sequences()
        return [each for each in asked if await ask(known, *each) == "done"]

    done = asyncio.run(all_of_them())
    assert done == sorted(set(done))
    assert all(seq == 0 or (epoch, seq - 1) in done for epoch, seq in done)


@pytest.mark.parametrize(
    ("claim", "seq"), [(Claim("m", 0, 4), 4), (Claim("m", 1, 4), None), (Claim("service-7", 0, 4), None)]
)
def test_a_producer_of_one_message_numbers_its_chunks(claim: Claim, seq: int | None) -> None:
    """One of several, or one that began anew, would number them wrongly, and then chunks would be dropped."""
    assert claim.seq_of("m") == seq
    assert claim.seq_of(None) is None
