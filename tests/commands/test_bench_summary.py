"""What all benchmarks share in summary what they found."""

from pathlib import Path

import msgspec
import pytest

from tokenmill.bench.summary import Finding, Summary, Table
from tokenmill.commands.bench_summary import tell


class Found(msgspec.Struct):
    """Of a benchmark."""

    rate: float


TELLING = Summary(
    "A page", "tokenmill bench x", "About.", [Table(("side", "rate"), [("ours", "3")])], [Finding("Fast")]
)


def test_people_get_a_table_and_programs_an_object(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Derived figures are in the object alone, and the page is written for both."""
    for as_json in (False, True):
        target = tmp_path / f"{as_json}.md"
        tell(TELLING, Found(3.0), {"ratio": 0.5}, target=target, as_json=as_json)
        assert target.read_text().startswith("# A page\n")
        out = capsys.readouterr().out
        if as_json:
            found = msgspec.json.decode(out)
            assert (found["rate"], found["ratio"], "python" in found["conditions"]) == (3.0, 0.5, True)
        else:
            assert ["ours", "3"] in [line.split() for line in out.splitlines()]
            assert "Fast" in out.splitlines()
