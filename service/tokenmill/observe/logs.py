"""Logs: one line per fact, as JSON for machines, plain for people.

A line that repeats while something lasts, such as a client's failure to reach its broker, is logged only a few times a
minute. The next one after lines were left out reports how many.
"""

import logging
import sys
import time
from typing import IO, Literal, TypeAlias

import msgspec

LogFormat: TypeAlias = Literal["json", "plain"]

NOISY = ("aiokafka", "faust", "mode", "aiohttp", "asyncio", "httpx2")
"""Libraries whose information concerns only themselves; their warnings concern us."""

REPEATED = (
    *NOISY,
    "tokenmill.worker.failed",
    "tokenmill.worker.rejected",
    "tokenmill.gateway.auth.function",
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

_STANDARD = frozenset(logging.LogRecord("", 0, "", 0, "", (), None).__dict__) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """One JSON object per line: `time`, `level`, `logger`, `message`, what `extra` gave, and `error` with its trace."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": self._time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {key: value for key, value in record.__dict__.items() if key not in _STANDARD}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode()

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
        if not any(record.name == name or record.name.startswith(f"{name}.") for name in REPEATED):
            return True
        wording = (record.name, str(record.msg))
        if len(self._said) >= WORDINGS:
            self._forget(record.created)
        began, lines = self._said.get(wording, (0.0, 0))
        if record.created - began < STRETCH_S:
            self._said[wording] = (began, lines + 1)
            return lines < SAID_AT_ONCE
        self._said[wording] = (record.created, 1)
        if left_out := max(0, lines - SAID_AT_ONCE):
            record.msg, record.args = f"{record.getMessage()} (and {left_out:,} more like this before)", None
        return True

    def _forget(self, now: float) -> None:
        """Forget wordings that no longer come, or all of them if too many are new."""
        going_on = {wording: said for wording, said in self._said.items() if now - said[0] < STRETCH_S}
        self._said = going_on if len(going_on) < WORDINGS else {}


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
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s"))
    handler.addFilter(not_an_echo)
    handler.addFilter(Repeats())
    logging.basicConfig(handlers=[handler], level=level, force=True)
    for name in NOISY:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLevelName(level)))
