"""`tokenmill capacity`."""

import msgspec
from click.testing import CliRunner

from tokenmill.capacity import Load, Need, need
from tokenmill.commands.capacity import ROWS, command


def test_every_figure_has_a_row() -> None:
    """In words, with thousands separated."""
    run = CliRunner().invoke(command, ["--conversations", "1000000", "--tokens-per-s", "75"], catch_exceptions=False)
    lines = dict(line.rsplit(maxsplit=1) for line in run.stdout.splitlines())
    assert lines.keys() == {"what", *ROWS.values()}
    assert ROWS.keys() == set(Need.__struct_fields__)
    assert lines["workers, one core each, half used"] == "1,650"


def test_json_is_the_model_itself() -> None:
    """With every option that was given."""
    given = ["--conversations", "5", "--delivery", "exactly-once", "--copies", "2", "--keep-hours", "1", "--json"]
    run = CliRunner().invoke(command, given, catch_exceptions=False)
    expected = need(Load(conversations=5, delivery="exactly-once", copies=2, keep_hours=1))
    assert msgspec.json.decode(run.stdout, type=Need) == expected
