"""Escapes inside of a value: signs that stand for others, and sections in which nothing stands for anything else."""

import re
from collections.abc import Callable

import msgspec

from tokenmill.parser.markers import Marker, marker


class Escapes(msgspec.Struct, frozen=True):
    """The escapes of one kind of markup. Values that have them are not trimmed."""

    raw: tuple[Marker, Marker]
    """Begin and end of a section whose text is as it stands."""
    characters: dict[str, str]
    """What stands for what."""

    def decoder(self) -> Callable[[str], str]:
        """The text that a whole value stands for."""
        begin, end = (re.escape(side.spellings[0]) for side in self.raw)
        signs = "|".join(re.escape(sign) for sign in self.characters)
        pattern = re.compile(f"{begin}(?P<raw>.*?){end}|(?P<sign>{signs})", re.DOTALL)

        def text_of(found: re.Match[str]) -> str:
            return self.characters[found["sign"]] if found["raw"] is None else found["raw"]

        firsts = {self.raw[0].spellings[0], *(sign[0] for sign in self.characters)}

        def decode(text: str) -> str:
            return pattern.sub(text_of, text) if any(first in text for first in firsts) else text

        return decode


XML = Escapes(
    raw=(marker("<![CDATA["), marker("]]>")),
    characters={"&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"', "&apos;": "'"},
)
