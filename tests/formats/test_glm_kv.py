"""What glm_kv has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, named
from tokenmill.events import ToolInputStart
from tokenmill.formats.glm_kv import GLM_KV
from tokenmill.parser import MessageParser


def test_names_of_other_servers() -> None:
    """The names under which other servers know it."""
    assert {"glm45", "glm47", "ling3", "poolside_v1"} <= set(GLM_KV.aliases)


def test_the_name_is_known_at_once() -> None:
    """A new line ends it; no key need follow."""
    parser = MessageParser.of(grammar("glm_kv"), "identity")
    assert named(parser.feed("<tool_call>f\n"), ToolInputStart)[0].name == "f"
