"""What qwen3_xml has of its own; its cases are run by the conformance suite."""

from tokenmill.formats.qwen3_xml import QWEN3_XML


def test_names_of_other_servers() -> None:
    """The names under which other servers know it."""
    assert {"qwen3_coder", "nemotron_v3", "step3p5"} <= set(QWEN3_XML.aliases)


def test_a_call_ends_the_reasoning() -> None:
    """These models call without closing their reasoning."""
    assert QWEN3_XML.calls_in_reasoning == "honour"
