"""What the gateway counts, and how it is read."""

import asyncio

import pytest
from aiohttp import ClientSession

from tests.support.gateways import answer, listening, payloads
from tests.support.sse import Sse
from tests.support.stage import until
from tokenmill.gateway.counts import Counts
from tokenmill.gateway.problems import GONE

ENDED = "tokenmill_gateway_streams_ended_total"
OPEN = "tokenmill_gateway_connections"


def test_a_stream_is_open_until_its_block_ends() -> None:
    """By its transport; what it says of its end is counted."""
    counts = Counts()
    with counts.attending("sse") as attended:
        assert counts.numbers.value(OPEN, "sse") == counts.connections == 1
        attended.outcome = "finished"
    assert counts.numbers.value(OPEN, "sse") == counts.connections == 0
    assert counts.numbers.value(ENDED, "finished") == 1


@pytest.mark.parametrize(
    ("problem", "ending"),
    [(TimeoutError(), "slow"), (ConnectionResetError(), "closed"), (asyncio.CancelledError(), "closed")],
)
def test_a_stream_that_breaks_is_counted_by_whose_doing_it_was(problem: BaseException, ending: str) -> None:
    """A client that takes nothing is slow, one that is gone has closed; the problem goes on."""
    counts = Counts()
    with pytest.raises(type(problem)), counts.attending("ndjson"):
        raise problem
    assert counts.numbers.value(ENDED, ending) == 1
    assert counts.connections == 0


def test_frames_count_for_each_client() -> None:
    """Added up where they are written, and read when somebody looks."""
    counts = Counts()
    counts.sent("openai", "sse").add(2, 300, clients=10)
    counts.sent("openai", "sse").add(1, 50)
    assert counts.numbers.value("tokenmill_gateway_frames_sent_total", "openai", "sse") == 21
    assert counts.numbers.value("tokenmill_gateway_bytes_sent_total", "openai", "sse") == 3_050


def test_a_flush_tells_how_old_the_records_were() -> None:
    """In seconds."""
    counts = Counts()
    counts.delivered([9_000, 9_990], 10_000)
    delivery = counts.numbers.histograms["tokenmill_gateway_delivery_latency_seconds"]
    assert delivery.count == 2
    assert delivery.total == pytest.approx(1.01)


def test_the_rest_is_counted_by_its_name() -> None:
    """Resumes, refusals, writes, heartbeats, and how long two things took."""
    counts = Counts()
    counts.resumed("gap")
    counts.refused(GONE)
    counts.wrote("stop")
    counts.beat(3)
    counts.first_byte(0.004)
    counts.caught_up(0.2)
    numbers = counts.numbers
    assert numbers.value("tokenmill_gateway_resumes_total", "gap") == 1
    assert numbers.value("tokenmill_gateway_refusals_total", "gone") == 1
    assert numbers.value("tokenmill_gateway_writes_total", "stop") == 1
    assert numbers.value("tokenmill_gateway_heartbeats_total") == 3
    assert numbers.histograms["tokenmill_gateway_first_byte_seconds"].total == 0.004
    assert numbers.histograms["tokenmill_gateway_catch_up_seconds"].total == 0.2


@pytest.mark.integration
async def test_a_visit_and_a_return_are_counted(kafka: str, unique: str) -> None:
    """Frames of both, from the past and live; where the second went on; that nobody is left."""
    first, second = answer("c", "m1", ["Hello ", "world"]), answer("c", "m2", ["again"])
    async with listening(kafka, unique) as gate, ClientSession(gate.url) as session:
        counts, numbers = gate.serving.counts, gate.serving.counts.numbers
        path = "/v1/conversations/c/events?from=start&until=finish"
        async with session.get(path) as visit:
            await gate.attended()
            assert numbers.value(OPEN, "sse") == 1
            await gate.say(first)
            body = await visit.read()
        (*_, last) = Sse().feed(body)
        await gate.hear(second)
        async with session.get(path, headers={"last-event-id": last.id}) as again:
            body += await again.read()
        assert len(payloads(body)) == len(first) + len(second)
        assert numbers.value("tokenmill_gateway_frames_sent_total", "native", "sse") == len(first) + len(second)
        assert 0 < numbers.value("tokenmill_gateway_bytes_sent_total", "native", "sse") < len(body)
        assert numbers.value(ENDED, "finished") == 2
        assert numbers.value("tokenmill_gateway_resumes_total", "window") == 1
        assert counts.connections == 0
        assert numbers.histograms["tokenmill_gateway_first_byte_seconds"].count == 2
        assert numbers.histograms["tokenmill_gateway_catch_up_seconds"].count == 2
        delivered = numbers.histograms["tokenmill_gateway_delivery_latency_seconds"]
        await until(lambda: delivered.count >= len(first), "a flush came behind the live frames")
