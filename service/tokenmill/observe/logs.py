"""Logs: one line per fact, as JSON for machines, plain for people.

A line that repeats while something lasts, such as a client's failure to reach its broker, is logged only a few times a
minute. The next one after lines were left out reports how many.

Libraries log what they were sent as it is. So what acts on a terminal is named, and what follows a line break is
indented: no text looks like a line of its own. Of what is too long both ends are kept.
"""

import logging
import re
import sys
import time
from collections.abc import Mapping
from typing import IO, Literal, TypeAlias

import msgspec

LogFormat: TypeAlias = Literal["json", "plain"]

FORMATTED = ("mcp", "client")
"""Loggers of the SDK for tools, which puts a server's words into the wording: its lines are told apart by their place
in the code."""

NOISY = ("aiokafka", "faust", "mode", "aiohttp", "asyncio", "httpx2", *FORMATTED)
"""Libraries whose information concerns only themselves; their warnings concern us."""

REPEATED = (
    *NOISY,
    "tokenmill.worker.failed",
    "tokenmill.worker.rejected",
    "tokenmill.gateway.auth.function",
    "tokenmill.gateway.http.open_files",
    "tokenmill.caller.membership",
    "tokenmill.caller.trying",
    "tokenmill.front.clocks",
    "tokenmill.kafka.hung_brokers",
)
"""Loggers that may repeat a line thousands of times a minute."""

ECHOES = (("mode.worker", "Crashed reason="), ("faust.worker", "We experienced a crash"))
"""Logger and words of lines that the host logs after a failure. The worker has logged the failure by then, with its
trace if it is not a known one, and its line should be the last critical one."""

SAID_AT_ONCE = 3
"""Lines of one wording in each stretch: enough to see that something lasts, and which broker it is about."""

STRETCH_S = 30.0

WORDINGS = 1_000
"""Wordings that are remembered: some, such as an event loop's warnings, contain an address and come only once."""

LINE_CHARS = 32_768
"""Most characters of a line for people, and of a message or a trace in JSON: libraries log all that a server sent."""

_ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Characters that act on a terminal, or hide what is written, and halves of surrogate pairs, which can't be written."""

_STANDARD = frozenset(logging.LogRecord("", 0, "", 0, "", (), None).__dict__) | {"message", "asctime", "taskName"}


def _named(text: str) -> str:
    """Return the text with `<U+001B>` for what acts on a terminal; tabs and line breaks are kept."""
    return _ACTING.sub(lambda char: f"<U+{ord(char[0]):04X}>", text)


def _bounded(text: str) -> str:
    """Return the text, without its middle if it is too long, and named."""
    if (left_out := len(text) - LINE_CHARS) > 0:
        half = LINE_CHARS // 2
        text = f"{text[:half]} … {left_out:,} characters left out … {text[-half:]}"
    return _named(text)


def _encoded(line: Mapping[str, object], extra: Mapping[str, object]) -> str:
    """Return a line as JSON. If one of the values in `extra` can't be written, all are as Python shows them."""
    try:
        return msgspec.json.encode({**line, **extra}, enc_hook=str).decode()
    except ValueError:  # half of a surrogate pair
        return msgspec.json.encode({**line, **{key: ascii(value) for key, value in extra.items()}}).decode()


class PlainFormatter(logging.Formatter):
    """A line for people. Only its first line begins at the margin, however many a message or a trace has."""

    def format(self, record: logging.LogRecord) -> str:
        return _bounded(super().format(record)).replace("\n", "\n  ")


class JsonFormatter(logging.Formatter):
    """One JSON object per line: `time`, `level`, `logger`, `message`, what `extra` gave, and `error` with its trace."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": self._time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _bounded(record.getMessage()),
        }
        extra = {key: value for key, value in record.__dict__.items() if key not in _STANDARD}
        if record.exc_info:
            line["error"] = _bounded(self.formatException(record.exc_info))
        return _named(_encoded(line, extra))

    @staticmethod
    def _time(record: logging.LogRecord) -> str:
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        return f"{seconds}.{int(record.msecs):03d}Z"


class Repeats(logging.Filter):
    """Passes a few lines of each wording in each stretch of time, for loggers that are known to repeat."""

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[tuple[str, str], tuple[float, int]] = {}
        """Start of the stretch and number of lines since, by logger and wording."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log this line; one that begins a stretch also reports how many of the last were left out."""
        if not _is_of(record, REPEATED):
            return True
        wording = (record.name, str(record.lineno) if _is_of(record, FORMATTED) else str(record.msg))
        if len(self._said) >= WORDINGS:
            self._forget(record.created)
        began, lines = self._said.get(wording, (0.0, 0))
        if abs(record.created - began) < STRETCH_S:  # a clock may be set back
            self._said[wording] = (began, lines + 1)
            return lines < SAID_AT_ONCE
        self._said[wording] = (record.created, 1)
        if left_out := max(0, lines - SAID_AT_ONCE):
            record.msg, record.args = f"{record.getMessage()} (and {left_out:,} more like this before)", None
        return True

    def _forget(self, now: float) -> None:
        """Forget wordings that no longer come, or all of them if too many are new."""
        going_on = {wording: said for wording, said in self._said.items() if abs(now - said[0]) < STRETCH_S}
        self._said = going_on if len(going_on) < WORDINGS else {}


def _is_of(record: logging.LogRecord, names: tuple[str, ...]) -> bool:
    return any(record.name == name or record.name.startswith(f"{name}.") for name in names)


def not_an_echo(record: logging.LogRecord) -> bool:
    """Whether a line is more than the host's echo of a failure, which has no trace of its own."""
    traced = record.exc_info is not None and record.exc_info[0] is not None
    return traced or not any(record.name == name and words in str(record.msg) for name, words in ECHOES)


def setup_logs(style: LogFormat = "plain", level: str = "INFO", stream: IO[str] | None = None) -> None:
    """Send all logs to standard error. Safe to call again."""
    handler = logging.StreamHandler(stream or sys.stderr)
    if style == "json":
        handler.setFormatter(JsonFormatter())
    else:
        handler.setFormatter(PlainFormatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
    handler.addFilter(not_an_echo)
    handler.addFilter(Repeats())
    logging.basicConfig(handlers=[handler], level=level, force=True)
    for name in NOISY:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLevelName(level)))
