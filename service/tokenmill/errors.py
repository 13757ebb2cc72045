"""Every error that tokenmill raises, and what the caller does next.

- `TokenmillError`                 never raised itself; see `action`
  - `RecordError`      dead-letter  this record can't be used; send it to the dead-letter topic and continue
    - `Undecodable`                 bytes that the codec can't read
    - `BadKey`                      no key, not UTF-8, too long, or it disagrees with `conversation_id`
    - `UnknownCodec`                the header `tm-codec` names none
    - `BadOpen`                     unknown option, unknown format or a value of the wrong type in `open`
    - `Orphan`                      a later chunk of a message that was never opened
    - `TooLarge`                    over the cap of one record
    - `Defect`                      this program, or a plug-in, fails on it
  - `SnapshotError`    replay       a snapshot can't be used; rebuild the state from the log
  - `ConfigError`      stop         the configuration is wrong; `problems` lists everything that is
  - `FatalError`       stop         the process can't go on safely; exit and let the supervisor restart it
  - `MissingServer`    stop         a server for tests, benchmarks or the demo can't be started; names what to install
  - `MessageEnded`     stop         a library parser is fed after `finish`: a mistake in the program that feeds it
  - `Unavailable`      retry        a broker or store does not answer now; try again after a pause

Model output is not in this list: odd text becomes an `error` event, never an exception.
"""

from collections.abc import Sequence
from pathlib import PurePath
from traceback import walk_tb
from typing import ClassVar, Literal, TypeAlias

import msgspec

NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Exceptions of the decoder for bytes that are not JSON of the type, not text, or nested too deep."""

CLOSED = "the handler is closed"
"""Text of the plain `RuntimeError` that uvloop raises when a client uses a connection that is gone."""


def raised_at(problem: Exception) -> str:
    """The kind of an error and the line of code that raised it: `KeyError in Reader.step, tree.py:120`.

    Its text is left out, because it may quote confidential data or differ each time; folders are left out, because they
    differ on each machine.
    """
    frames, kind = [*walk_tb(problem.__traceback__)], type(problem).__name__
    if not frames:
        return kind
    code, line = frames[-1][0].f_code, frames[-1][1]
    return f"{kind} in {code.co_qualname}, {PurePath(code.co_filename).name}:{line}"


Action: TypeAlias = Literal["dead-letter", "replay", "stop", "retry"]


class TokenmillError(Exception):
    """Base of all errors; `action` tells the caller what to do next."""

    action: ClassVar[Action]


class RecordError(TokenmillError):
    """A record that can't be used. `code` goes into `tm-error-code` and a metric's label."""

    action = "dead-letter"
    code: ClassVar[str] = "record"


class Undecodable(RecordError):
    """The codec can't read the record's value."""

    code = "undecodable"


class BadKey(RecordError):
    """The record has no usable key."""

    code = "bad-key"


class UnknownCodec(RecordError):
    """The header `tm-codec` names no codec."""

    code = "unknown-codec"


class BadOpen(RecordError):
    """The options of a message are wrong."""

    code = "bad-open"


class Orphan(RecordError):
    """A chunk with `seq` > 0 of a message that is not open."""

    code = "orphan"


class TooLarge(RecordError):
    """The record is over the cap of one input record."""

    code = "too-large"


class Defect(RecordError):
    """A bug in tokenmill, or in a plug-in: the record caused an unexpected error. Please report it."""

    code = "internal"


RECORD_ERRORS: tuple[type[RecordError], ...] = (Undecodable, BadKey, UnknownCodec, BadOpen, Orphan, TooLarge, Defect)
"""Every reason for a dead letter, which bounds the metric's label."""


class SnapshotError(TokenmillError):
    """A snapshot is missing, unreadable or of another schema version."""

    action = "replay"


class ConfigError(TokenmillError):
    """The configuration is wrong; all problems at once, one sentence each, the key's name first."""

    action = "stop"

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems: tuple[str, ...] = tuple(problems)


class FatalError(TokenmillError):
    """Continuing could lose or repeat events; the process must end."""

    action = "stop"


class MissingServer(TokenmillError):
    """A server that tokenmill starts itself can't be started on this machine."""

    action = "stop"


class MissingExtra(TokenmillError, ImportError):
    """A part of tokenmill needs packages that are not installed; the message explains how to install them."""

    action = "stop"

    def __init__(self, what: str, missing: ModuleNotFoundError, extra: str) -> None:
        super().__init__(f"{what} needs {missing.name}, which is not installed: pip install 'tokenmill[{extra}]'")


class MessageEnded(TokenmillError):
    """A parser got more of a message that has ended; the next message needs a new parser."""

    action = "stop"


class Unavailable(TokenmillError):
    """An external system does not answer now."""

    action = "retry"
