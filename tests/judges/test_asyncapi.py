"""The AsyncAPI document by the parser of those who make the specification."""

from pathlib import Path

from tests.structure.tree import CHECKOUT
from tests.support.judging import run_node

DOCUMENT = CHECKOUT / "docs" / "reference" / "asyncapi.json"


def test_the_document_is_one() -> None:
    """Without an error, a warning or a hint."""
    said = run_node("asyncapi.mjs", str(DOCUMENT))
    assert said == {
        "channels": ["tokens", "events", "tool-calls", "tool-results", "tool-control", "tokens.dlq"],
        "problems": [],
    }


def test_what_is_none_is_told(tmp_path: Path) -> None:
    """The parser looks at what it is given."""
    broken = tmp_path / "asyncapi.json"
    broken.write_text(DOCUMENT.read_text().replace('"action": "receive"', '"action": "listen"'))
    assert run_node("asyncapi.mjs", str(broken))["problems"] != []
