"""What qwen3_json has of its own; its cases are run by the conformance suite."""

from tokenmill.formats.hermes import HERMES
from tokenmill.formats.qwen3_json import QWEN3_JSON


def test_a_call_ends_the_reasoning() -> None:
    """In this it differs from hermes, whose calls there are drafts; the grammar of calls is the same."""
    assert (QWEN3_JSON.calls_in_reasoning, HERMES.calls_in_reasoning) == ("honour", "ignore")
    assert QWEN3_JSON.sections == HERMES.sections


def test_names_of_other_servers() -> None:
    """Trinity's models call inside of their reasoning."""
    assert "trinity" in QWEN3_JSON.aliases
