"""What the gateway's clients read, whatever workers repeat and wherever a client begins."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from tests.support.event_log import EventLog, Said, frames_of, of, position_of, spoken, woven
from tests.support.readings import others, reading_of, shown
from tokenmill.dialects import find_dialect
from tokenmill.dialects.native import NATIVE
from tokenmill.gateway.event_log.reading import Start
from tokenmill.gateway.event_log.view import Frame

OPENAI = find_dialect("openai")


def talk_said() -> list[Said]:
    return woven(of("c", spoken("one", "Rain.")), others(3), [*of("c", spoken("two", "Hi.")), *others(2)])


@given(st.data())
def test_what_a_worker_repeats_is_shown_once_wherever_a_reading_begins(data: st.DataObject) -> None:
    """Workers take over at random places; clients come at random times, with the last id that they were given."""
    said = list(talk_said())
    log, at = EventLog(), 0
    while at < len(said):
        more = data.draw(st.integers(1, len(said) - at), "chunks")
        log.say(said[at : at + more])
        at += more
        if back := data.draw(st.integers(0, 20), "repeated"):
            log.repeat(max(0, len(log.records) - back), len(log.records))
    dialect = data.draw(st.sampled_from([NATIVE, OPENAI]))
    whole = frames_of(log.entries(), dialect)
    got = list[Frame]()
    start: Start = "start"
    while len(got) < len(whole):
        came = asyncio.run(shown(reading_of(log, dialect, data.draw(st.integers(0, log.end), "window")), start))
        got += came[: data.draw(st.integers(1, max(1, len(came))), "frames before the cut")]
        assert came
        start = position_of(got[-1])
    assert got == whole
