"""Tags for tools, `<tool name="NAME">` with arguments as elements, and the older ones of two tools.

Of `write_file`, `patch_file` and `run_bash` the long argument streams as it stands. The older tags are content to the
model, not calls: they are read whatever `parse` says.
"""

from tokenmill.formats.notations import tags_history
from tokenmill.parser.markers import Marker, marker
from tokenmill.parser.spec import Call, Format, Section
from tokenmill.systems.autobyteus.piped import Piped
from tokenmill.systems.autobyteus.tagged import ANY_TOOL, Raw, Tagged
from tokenmill.systems.autobyteus.xml_tool import XmlTool


def _opening(tag: str, behind: str) -> Marker:
    """The beginning of a tag, up to its name."""
    return marker(f"<{tag}", any_case=True, ahead=[[behind]])


def _closing(tag: str) -> Marker:
    return marker(f"</{tag}>", spaces=True, any_case=True)


_END = _closing("tool")

AUTOBYTEUS_XML = Format(
    name="autobyteus_xml",
    summary='`<tool name="NAME">` with arguments as elements; `<write_file path="PATH">` and `<run_bash>` with text.',
    sample=(
        'I\'ll look it up.\n<tool name="get_weather"><arguments><arg name="city">Paris</arg>'
        '<arg name="days">3</arg></arguments></tool>'
    ),
    history=tags_history(
        '<tool name="$name"><arguments>$arguments</arguments></tool>', '<arg name="$key">$value</arg>'
    ),
    sections=(
        Section(
            open=None,
            close=None,
            calls=(
                Call(
                    open=_opening("tool", r"\s"),
                    body=Tagged(
                        {
                            ANY_TOOL: XmlTool(_END),
                            "write_file": Piped(
                                _END, "content", path=True, guards=("__START_CONTENT__", "__END_CONTENT__")
                            ),
                            "patch_file": Piped(_END, "patch", path=True, guards=("__START_PATCH__", "__END_PATCH__")),
                            "run_bash": Piped(_END, "command"),
                        }
                    ),
                ),
            ),
            bare="alone",
        ),
        Section(
            open=None,
            close=None,
            calls=(
                Call(
                    open=_opening("write_file", r"\s"),
                    body=Tagged(
                        {"write_file": Raw(_closing("write_file"), "content", path=True)},
                        kind="write_file",
                        required="path",
                    ),
                ),
                Call(
                    open=_opening("run_bash", r"[\s>]"),
                    body=Tagged({"run_bash": Raw(_closing("run_bash"), "command")}, kind="run_bash"),
                ),
            ),
            bare="alone",
            layer="always",
        ),
    ),
    unknown_tool="text",
)
