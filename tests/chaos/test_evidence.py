"""What logs are taken to say."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.crew import Life
from tests.chaos.evidence import became_live, generations, reason_of, sources, takeovers, was_fenced, was_left_out
from tokenmill.servers.worker import WorkerProcess

FENCED = "tokenmill-g-tokens-3 is fenced: another worker has the partition, or the transaction timed out"


def _life(folder: Path, *lines: tuple[int, str, dict[str, Any]]) -> Life:
    """A worker that logged these: second, message, further fields."""
    folder.mkdir()
    life = Life(WorkerProcess(folder, {}), 0, None)
    life.worker.log.write_text(
        "".join(
            json.dumps({"time": f"1970-01-01T00:00:{second:02}.000Z", "level": "info", "message": message} | more)
            + "\n"
            for second, message, more in lines
        )
    )
    return life


def test_who_had_which_partitions(tmp_path: Path) -> None:
    """From the lines about assignments and about partitions that became live."""
    life = _life(
        tmp_path / "one",
        (1, "generation 4: 2 partitions", {"partitions": [0, 3]}),
        (2, "tokens/3: live at 17 after 0.500 s, from redis", {}),
    )
    (generation,) = generations(life)
    assert (generation.number, generation.partitions, generation.at) == (4, frozenset({0, 3}), 1.0)
    (live,) = became_live([life])
    assert (live.partition, live.source, live.seconds, live.at) == (3, "redis", 0.5, 2.0)
    assert sources([live]) == {"redis": 1}


@pytest.mark.parametrize(("numbers", "expected"), [((4, 5, 6), False), ((4, 5, 7), True)])
def test_a_zombie_misses_a_generation(tmp_path: Path, numbers: tuple[int, ...], *, expected: bool) -> None:
    """That of the others, while it was frozen."""
    lines: list[tuple[int, str, dict[str, Any]]] = [
        (second, f"generation {number}: 0 partitions", {"partitions": []}) for second, number in enumerate(numbers)
    ]
    assert was_left_out(_life(tmp_path / "one", *lines)) is expected


@pytest.mark.parametrize(("said", "expected"), [(FENCED, True), ("generation 7: 0 partitions", False)])
def test_a_zombie_is_fenced_where_its_log_says_so(tmp_path: Path, said: str, *, expected: bool) -> None:
    """Not where the group gave it partitions anew before it came to publish anything."""
    assert was_fenced(_life(tmp_path / "one", (1, said, {"partitions": []}))) is expected


def test_a_takeover_lasts_until_the_partition_is_live_again(tmp_path: Path) -> None:
    """Of every partition that the killed worker had, and of no other."""
    dead = _life(tmp_path / "dead", (1, "generation 4: 2 partitions", {"partitions": [0, 3]}))
    dead.struck = [10.0]
    heir = _life(
        tmp_path / "heir",
        (2, "tokens/3: live at 1 after 0.1 s, from replay", {}),
        (14, "tokens/0: live at 17 after 0.1 s, from redis", {}),
        (15, "tokens/3: live at 18 after 0.1 s, from redis", {}),
        (16, "tokens/5: live at 19 after 0.1 s, from redis", {}),
    )
    assert sorted(takeovers([dead, heir])) == [4.0, 5.0]


@pytest.mark.parametrize(
    ("said", "happened", "expected"),
    [(FENCED, {"zombie"}, True), (FENCED, {"kill-one"}, False), ("lag without progress", {"zombie"}, False)],
)
def test_a_worker_may_end_by_itself_for_known_reasons_only(
    tmp_path: Path, said: str, happened: set[str], *, expected: bool
) -> None:
    """And only after a fault that explains it."""
    life = _life(tmp_path / "one", (1, "on its way", {}), (2, said, {"level": "critical"}), (3, "while ending", {}))
    assert (reason_of(life, happened) is not None) is expected
