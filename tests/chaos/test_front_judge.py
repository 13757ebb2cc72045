"""The judge of runs with fronts notices what it is there for: each mistake is made once, and is all that it finds."""

import random
from collections.abc import Sequence

import pytest

from tests.chaos.front_clicks import Click, Kind
from tests.chaos.front_client import Cuts
from tests.chaos.front_judge import LOST, Generated, Judge
from tests.chaos.front_readers import GatewayReader
from tests.chaos.front_said import MARK, Json, Said, expected, native, rendered
from tests.chaos.front_stage import DISCONNECT_S, Struck

TEXT = f"the{MARK} mill{MARK} grinds{MARK}"
FIRST, SECOND = Generated(10, 12), Generated(14, 16)
KILLED, FROZEN, FAR = Struck("kill", 12, 13), Struck("freeze", 11, 17), Struck("kill", 90, 91)


def click(text: str = "the¹ mill¹ grinds¹", finish: str = "stop", model: str = "cut-off", kind: Kind = "key") -> Click:
    """One that was answered so."""
    made = Click(0, kind, random.Random(1), model)
    made.said, made.finish = Said(text), finish
    return made


def found(
    made: Click,
    generations: Sequence[Generated] = (FIRST,),
    strikes: Sequence[Struck] = (),
    readers: Sequence[GatewayReader] = (),
) -> list[str]:
    """What is wrong with it."""
    return Judge({made.key: expected(TEXT)}, {made.key: list(generations)}, strikes).problems([made], readers)


def test_a_sound_click_is_sound() -> None:
    """Whole, of one generation."""
    assert found(click()) == []


@pytest.mark.parametrize(
    "text", ["the¹ mill¹", "the¹ mill¹ mill¹ grinds¹", "the¹ mill¹ grinds¹ the¹ mill¹ grinds¹", ""]
)
def test_words_that_are_lost_or_come_twice_are_noticed(text: str) -> None:
    """One is enough."""
    assert ["instead of" in problem for problem in found(click(text))] == [True]


def test_a_mixture_of_generations_is_noticed_where_none_is_gone_on_with() -> None:
    """Each word is there once, but they are not of one answer."""
    assert ["mixture" in problem for problem in found(click("the¹ mill² grinds²"))] == [True]
    assert found(click("the¹ mill² grinds²", model="goes-on"), [FIRST, SECOND], [KILLED]) == []


@pytest.mark.parametrize(
    ("strikes", "sound"), [([], False), ([FAR], False), ([KILLED], True), ([FROZEN], True)], ids=str
)
def test_a_second_generation_needs_a_reason(strikes: Sequence[Struck], *, sound: bool) -> None:
    """Something was done to a caller while the first one ran."""
    assert (found(click(), [FIRST, SECOND], strikes) == []) == sound


def test_who_was_away_for_too_long_may_have_a_second_generation() -> None:
    """The first one was stopped."""
    made = click()
    made.away_s = DISCONNECT_S
    assert found(made, [FIRST, SECOND]) == []


@pytest.mark.parametrize(("outages", "sound"), [([(11, 20)], True), ([(11, 15), (16, 21)], True), ([(11, 14)], False)])
def test_a_caller_that_is_lost_before_it_could_write_is_a_reason(
    outages: Sequence[tuple[float, float]], *, sound: bool
) -> None:
    """It had all of the first generation, and no broker to write it to."""
    late = Struck("kill", 19, 20)
    made = Judge({"click-0": expected(TEXT)}, {"click-0": [FIRST, SECOND]}, [late], outages)
    assert (made.problems([click()], []) == []) == sound


def test_no_generation_is_noticed() -> None:
    """Somebody has made the answer up."""
    assert ["never generated" in problem for problem in found(click(), [])] == [True]


def test_only_the_loss_of_a_caller_is_an_error_that_may_be() -> None:
    """And only if something was done to one."""
    made = click()
    made.said, made.error = None, f"502: {LOST}"
    assert found(made, [FIRST], [KILLED]) == []
    assert len(found(made, [FIRST], [FAR])) == 1
    made.error = "500: the caller failed"
    assert len(found(made, [FIRST], [KILLED])) == 1


def test_who_waits_still_is_noticed() -> None:
    """A click, and a reader at the gateway."""
    made = click()
    made.said = None
    reader = GatewayReader(made, lambda: 0, Cuts(random.Random(1), 1, 1))
    assert ["had no answer" in problem for problem in found(made)] == [True]
    assert ["waits still" in problem for problem in found(click(), readers=[reader])] == [True]


def test_a_stopped_answer_is_a_beginning() -> None:
    """It was asked for; or it is a response that nobody read for long enough. Another one has to be whole."""
    made = click("the¹ mill¹", "cancelled", kind="responses")
    assert len(found(made)) == 1
    made.away_s = DISCONNECT_S
    assert found(made) == []
    abandoned = click("the¹ mill¹")
    abandoned.away_s = DISCONNECT_S
    assert ["instead of" in problem for problem in found(abandoned)] == [True]
    made.said = Said("mill¹")
    assert ["no beginning" in problem for problem in found(made)] == [True]


def test_two_connections_that_were_told_otherwise_are_noticed() -> None:
    """What came before a cut is the beginning of what comes behind it."""
    made = click()
    made.payloads = {"m": [["a", "b"], ["a"], [], ["a", "b", "c"]], "": [["x"]]}
    assert found(made) == []
    made.payloads["m"].append(["a", "c"])
    assert ["not told the same" in problem for problem in found(made)] == [True]


@pytest.mark.parametrize("numbers", [[0, 1, 1, 2], [0, 2], [1, 2]])
def test_a_reader_whose_events_are_not_in_a_row_is_noticed(numbers: Sequence[int]) -> None:
    """One is missing, or comes twice."""
    reader = GatewayReader(click(), lambda: 0, Cuts(random.Random(1), 1, 1))
    reader.over, reader.events = True, [{"seq": number, "type": "text-start"} for number in numbers]
    assert [str(numbers) in problem for problem in found(click(), readers=[reader])] == [True]
    reader.events = [{"seq": number, "type": "text-start"} for number in range(3)]
    assert found(click(), readers=[reader]) == []


def test_native_events_are_read_as_those_of_dialects_are() -> None:
    """Without the source of a call that was cut off."""
    events: list[Json] = [
        {"type": "text-delta", "id": "t0", "delta": "a"},
        {"type": "text-start", "id": "t1", "cut": True},
        {"type": "text-delta", "id": "t1", "delta": "<tool_call>"},
    ]
    assert native(events) == Said("a")
    assert rendered([], "openai") == []
