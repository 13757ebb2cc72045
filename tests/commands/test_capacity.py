"""`tokenmill capacity`."""

import msgspec
import pytest
from click.testing import CliRunner

from tokenmill.capacity import Load, Need, need
from tokenmill.commands.capacity import PRICES, ROWS, command


def _rows(*prices: str) -> dict[str, str]:
    given = ["--conversations", "1000000", "--tokens-per-s", "75", *prices]
    run = CliRunner().invoke(command, given, catch_exceptions=False)
    return dict(line.rsplit(maxsplit=1) for line in run.stdout.splitlines())


def test_every_figure_has_a_row() -> None:
    """In words, with thousands separated; those of prices where there are any."""
    assert ROWS.keys() == set(Need.__struct_fields__)
    lines = _rows("--core-hour", "0.04")
    assert lines.keys() == {"what", *ROWS.values()}
    assert (lines["workers, one core each, half used"], lines["price of a month"]) == ("1,650", "48,180.0")
    assert ROWS.keys() - {name for name in ROWS if ROWS[name] in _rows()} == PRICES


def test_json_is_the_model_itself() -> None:
    """With every option that was given."""
    given = ["--conversations", "5", "--delivery", "exactly-once", "--copies", "2", "--keep-hours", "1", "--json"]
    run = CliRunner().invoke(command, given, catch_exceptions=False)
    expected = need(Load(conversations=5, delivery="exactly-once", copies=2, keep_hours=1))
    assert msgspec.json.decode(run.stdout, type=Need) == expected


@pytest.mark.parametrize(
    "given",
    [
        ["--conversations", "9" * 400],
        ["--conversations", "1", "--tokens-per-s", "nan"],
        ["--conversations", "1", "--keep-hours", "inf"],
        ["--conversations", "1", "--broker-mb-s", "1e-320"],
        ["--conversations", "1", "--gb-month", "nan"],
        ["--conversations", "1", "--core-hour", "1e308"],
    ],
)
def test_a_load_that_nothing_can_carry_is_wrong_usage(given: list[str]) -> None:
    """Numbers that are none, or make such of others."""
    run = CliRunner().invoke(command, given, catch_exceptions=False)
    assert run.exit_code == 2
    assert "no figures" in run.stderr
