"""The compiled options of a message: its rules, and the tables that the machine runs.

Made once for all messages with the same options, and never changed.
"""

from collections.abc import Sequence
from hashlib import blake2b

import msgspec

from tokenmill.events import MessageStart
from tokenmill.limits import Limits
from tokenmill.parser.compiler import compile_modes
from tokenmill.parser.modes import Mode
from tokenmill.parser.options import Options
from tokenmill.parser.request import request_of
from tokenmill.parser.rules import Rules, natural_chars
from tokenmill.parser.spec import Format
from tokenmill.parser.suffix import with_suffix

_UNPARSED = {"parse": "none", "tool_choice": "none"}
"""Options under which every marker stays text."""


class Grammar(Rules):
    """Compiled options; immutable and shared."""

    __slots__ = ("format_names", "key", "message_start", "mode_names", "modes", "prompt", "start")

    def __init__(self, options: Options, formats: Sequence[Format], limits: Limits, *, traced: bool = False) -> None:
        configured = [format_.configured(format_, options) if format_.configured else format_ for format_ in formats]
        suffixed = [with_suffix(format_, options.markers_suffix) for format_ in configured]
        careful = msgspec.structs.replace(limits, delta_chars=0) if natural_chars(options) else limits
        parsed = _UNPARSED if options.text_mode == "passthrough" else {}
        compiled = compile_modes(msgspec.structs.replace(options, **parsed), suffixed, careful)
        super().__init__(
            options,
            limits,
            unknown_tool=options.unknown_tool or formats[0].unknown_tool,
            drops_text_after_calls=(options.text_after_calls or formats[0].text_after_calls) == "drop",
            first_call_only=any(format_.first_call_only for format_ in formats),
            reasoning=compiled.reasoning,
            answers=compiled.answers,
            traced=traced,
        )
        self.modes: Sequence[Mode] = compiled.modes
        self.mode_names: Sequence[str] = compiled.names
        """What people call each mode, as the diagrams of formats do."""
        self.start: int = compiled.start
        """Number of the mode in which the stream begins."""
        given = options.start in (None, formats[0].start) and options.parse != "none" and not parsed
        self.prompt = formats[0].prompt if given else ""
        """Text that is read in front of the model's first."""
        self.key = options_key(options)
        """Content hash of the options: what snapshots intern them by."""
        names = self.format_names = [format_.name for format_ in formats]
        format_ = names[0] if len(names) == 1 else names
        self.message_start = MessageStart(options.model, format_, request_of(options, self.tools, limits))
        """The first event of every message with these options."""


def options_key(options: Options) -> str:
    """Content hash of options."""
    return blake2b(msgspec.msgpack.encode(options), digest_size=12).hexdigest()
