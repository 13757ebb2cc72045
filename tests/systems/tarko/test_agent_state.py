"""What the dialect `agent` gathers."""

from tokenmill.parser.run.state import BLOCK_PIECES
from tokenmill.systems.tarko.agent_state import GATHERED_BYTES, AgentState, Called, Gathered


def test_text_is_gathered_as_far_as_there_is_room() -> None:
    """Counted as JSON has it; behind the first piece that does not fit there is none."""
    gathered = Gathered()
    quotes = '"' * ((GATHERED_BYTES - 10) // 2 - 2)
    assert gathered.add("a", 3)
    assert gathered.add(quotes, 2 * len(quotes) + 2)
    assert not gathered.add("x" * 100, 102)
    assert not gathered.add("b", 3)
    assert (gathered.cut, gathered.text()[:2], gathered.text()[-1]) == (True, 'a"', '"')


def test_other_things_take_room_too() -> None:
    """Only as much as there is."""
    gathered = Gathered()
    assert gathered.charge(GATHERED_BYTES)
    assert not gathered.charge(1)
    assert gathered.cut


def test_the_last_call_of_an_id_is_meant() -> None:
    """None where there is none."""
    state = AgentState(calls=[Called("a", "f", 0, provider=False), Called("a", "g", 0, provider=False)])
    call = state.call("a")
    assert call is not None
    assert (call.name, state.call("b")) == ("g", None)


def test_text_is_joined_to_blocks() -> None:
    """Hardly any piece is kept alone, and all of it is there."""
    gathered = Gathered()
    for _ in range(3 * BLOCK_PIECES + 1):
        assert gathered.add("ab", 4)
    assert (len(gathered.blocks), gathered.pieces) == (3, ["ab"])
    assert gathered.text() == "ab" * (3 * BLOCK_PIECES + 1)
