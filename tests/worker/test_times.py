"""Which outputs may refuse what the input took, by their settings."""

import pytest

from tokenmill.worker.times import AFTER, APPENDED, BEFORE, EVER, TIMESTAMPS, narrow, taking_all

HOUR = 3_600_000


@pytest.mark.parametrize(
    ("tokens", "events", "named"),
    [
        ({AFTER: str(HOUR), BEFORE: str(EVER)}, {AFTER: str(HOUR), BEFORE: str(EVER)}, []),
        ({AFTER: str(2 * HOUR)}, {AFTER: str(HOUR)}, [AFTER]),
        ({AFTER: str(HOUR)}, {AFTER: str(2 * HOUR)}, []),
        ({BEFORE: str(HOUR)}, {BEFORE: str(HOUR)}, [BEFORE]),
        ({AFTER: str(EVER)}, {AFTER: "0", BEFORE: "0"}, [AFTER, BEFORE]),
        ({}, {AFTER: str(HOUR)}, []),
        ({AFTER: str(EVER)}, {}, []),
        ({AFTER: str(EVER), TIMESTAMPS: APPENDED}, {AFTER: str(HOUR)}, []),
        ({AFTER: None}, {AFTER: str(HOUR), BEFORE: None}, []),
    ],
)
def test_outputs_that_take_fewer_times_are_named(
    tokens: dict[str, str | None], events: dict[str, str | None], named: list[str]
) -> None:
    """Of what is too old all must be taken, as time passes before it is published; what is not said is right."""
    sentences = narrow("tokens", ["events"], {"tokens": tokens, "events": events})
    assert [sentence.split(" is ")[0] for sentence in sentences] == [f"topic events: its {key}" for key in named]
    assert all(sentence.endswith(taking_all("events")) for sentence in sentences)
