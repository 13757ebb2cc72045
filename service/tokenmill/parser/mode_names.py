"""What people call the modes of a grammar: the states of the formats' diagrams.

`text`, `unparsed`, `reasoning0`, `section0`, `section0_call1`, `header`, `text_block`, `channel2`, …; where several
formats live at once, each with its format's name in front: `think.reasoning0`.
"""

from collections.abc import Iterator, Sequence

from tokenmill.parser.bodies import Body
from tokenmill.parser.spec import BlockKind, Format, Section


def prefixes(formats: Sequence[Format]) -> dict[str, str]:
    """What stands in front of the names of each format's modes."""
    return {format_.name: f"{format_.name}." if len(formats) > 1 else "" for format_ in formats}


def section_names(name: str, section: Section, *, again: bool) -> Iterator[str]:
    """The modes of a section, in the order of their numbers; `again`: it may come again behind its end."""
    yield name
    yield from (f"{name}_call{number}" for number in range(len(section.calls)))
    if section.block:
        yield f"{name}_text"
    if again:
        yield f"{name}_again"


def route_names(number: int, to: BlockKind | Section | Body, modes: int) -> list[str]:
    """The modes of a channel's route, of which there are so many."""
    if isinstance(to, str):
        return [f"{to}_block"] * modes
    if modes == 1:  # calls that are not parsed
        return ["text_block"]
    calls = [f"channel{number}_call{at}" for at in range(modes - 1)]
    return [f"channel{number}", *(calls if isinstance(to, Section) else [f"channel{number}"])]
