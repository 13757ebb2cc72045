"""Logs as lines that machines read, or people."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from tokenmill.observe import setup_logs
from tokenmill.observe.logs import LINE_CHARS, WORDINGS, LogFormat, Repeats


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_json_lines_say_when_what_and_where() -> None:
    """One object a line, with what `extra` gave; an exception keeps its trace in it."""
    stream = io.StringIO()
    setup_logs("json", stream=stream)
    logging.getLogger("tokenmill.worker").warning("%d partitions", 3, extra={"partitions": [1, 2], "odd": {3}.union})
    logging.getLogger("tokenmill.worker").error("failed", exc_info=ValueError("broken\nin two lines"))
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (first["level"], first["logger"], first["message"]) == ("warning", "tokenmill.worker", "3 partitions")
    assert first["partitions"] == [1, 2]
    assert first["time"].endswith("Z")
    assert "ValueError: broken" in second["error"]


def test_plain_lines_are_for_people() -> None:
    """Time, level, logger and message."""
    stream = io.StringIO()
    setup_logs("plain", stream=stream)
    logging.getLogger("tokenmill").info("hello")
    assert stream.getvalue().rstrip().endswith("INFO    tokenmill: hello")


HOSTILE = "\x1b]0;x\x07\x9b2J\u202egnp\ud800\r\n2026-11-28 ERROR   tokenmill: forged\tline"


def test_no_text_acts_on_a_terminal_or_looks_like_a_line() -> None:
    """Neither what was logged, nor what an exception says; the rest is as it was."""
    stream = io.StringIO()
    setup_logs("plain", stream=stream)
    logging.getLogger("mcp.client").warning(f"event: {HOSTILE}", exc_info=ValueError(HOSTILE))  # noqa: G004 -- as the SDK has it
    first, *others = stream.getvalue().split("\n")
    assert first.endswith("mcp.client: event: <U+001B>]0;x<U+0007><U+009B>2J<U+202E>gnp<U+D800><U+000D>")
    assert others[0] == "  2026-11-28 ERROR   tokenmill: forged\tline"
    assert others[1].startswith("  ValueError: <U+001B>]0;x")
    assert others[2:] == [others[0], ""]


def test_json_lines_hold_what_cannot_be_written() -> None:
    """By its name, so that no line is lost, and none acts on a terminal."""
    stream = io.StringIO()
    setup_logs("json", stream=stream)
    logging.getLogger("tokenmill").error("bad: %s", HOSTILE, exc_info=ValueError(HOSTILE))
    line = json.loads(stream.getvalue())
    assert line["message"] == (
        "bad: <U+001B>]0;x<U+0007><U+009B>2J<U+202E>gnp<U+D800><U+000D>\n2026-11-28 ERROR   tokenmill: forged\tline"
    )
    assert "\u009b" not in line["error"]


@pytest.mark.parametrize("style", ["plain", "json"])
def test_no_line_is_endless(style: LogFormat) -> None:
    """A server may send megabytes that a library logs: naming all of it would take seconds. Both ends are kept."""
    stream = io.StringIO()
    setup_logs(style, stream=stream)
    for text in ("\x1b" * 100_000, "a" * LINE_CHARS):
        logging.getLogger("tokenmill").error("begin %s end", text, exc_info=ValueError(f"begin {text} end"))
    lines = stream.getvalue().split("begin ")[1:]
    assert len(lines) >= 2  # of each message, and of its error if that is cut by itself
    for line in lines:
        assert len(line) < 9 * LINE_CHARS
        assert " characters left out … " in line
        assert " end" in line


def test_no_value_that_is_logged_beside_a_message_loses_its_line() -> None:
    """One that can't be written is written as Python shows it, and none acts on a terminal."""
    stream = io.StringIO()
    setup_logs("json", stream=stream)
    for value in ("\u009b2J\u202e", "\ud800", {"of": ["\ud800"]}, {1, "\ud800"}):
        logging.getLogger("tokenmill").error("bad", extra={"value": value, "count": 1})
    acting, half, nested, odd = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (acting["value"], acting["count"]) == ("<U+009B>2J<U+202E>", 1)
    assert (half["message"], half["value"]) == ("bad", r"'\ud800'")
    assert nested["value"] == r"{'of': ['\ud800']}"
    assert r"'\ud800'" in odd["value"]


def _say(name: str, seconds: list[float], wording: str = "can't reach %s") -> list[str]:
    """What is logged of lines of one wording at these times."""
    stream = io.StringIO()
    setup_logs("plain", stream=stream)
    for number, second in enumerate(seconds):
        record = logging.LogRecord(name, logging.ERROR, "", 0, wording, (f"broker {number}",), None)
        record.created = 1_000_000 + second
        logging.getLogger(name).handle(record)
    return [line.rsplit(f"{name}: ", 1)[1] for line in stream.getvalue().splitlines()]


def test_a_broker_that_is_away_fills_no_log() -> None:
    """A client's repeated lines are logged a few times a minute, with the number of lines left out."""
    lines = _say("aiokafka.conn", [at / 100 for at in range(6_000)])
    assert lines[:3] == ["can't reach broker 0", "can't reach broker 1", "can't reach broker 2"]
    assert lines[3] == "can't reach broker 3000 (and 2,997 more like this before)"
    assert len(lines) == 6


def test_a_tool_server_fills_no_log() -> None:
    """The SDK puts a server's words into its wordings: they count as one. What it does is no news."""
    stream = io.StringIO()
    setup_logs("plain", stream=stream)
    for number in range(100):
        logging.getLogger("mcp.client.streamable_http").warning(f"Unknown SSE event: {number}")  # noqa: G004 -- as above
        logging.getLogger("mcp.client.streamable_http").info("Received session ID: %d", number)
    assert len(stream.getvalue().splitlines()) == 3


def test_other_lines_are_all_said() -> None:
    """Those of other wordings, and all of our own but the one for each record that can't be used."""
    assert len(_say("tokenmill.worker.lane", [0.0] * 10)) == 10
    assert len(_say("tokenmill.worker.rejected", [0.0] * 10)) == 3
    stream = io.StringIO()
    setup_logs("plain", stream=stream)
    for number in range(10):
        logging.getLogger("aiokafka").error(f"fact {number}")  # noqa: G004 -- ten wordings
    assert len(stream.getvalue().splitlines()) == 10


def test_a_clock_that_is_set_back_silences_nobody() -> None:
    """Until it is where it was, which may be days later, every repeated line would be left out."""
    logger = "tokenmill.worker.rejected"
    assert _say(logger, [0.0] * 4 + [-3_600.0])[3:] == ["can't reach broker 4 (and 1 more like this before)"]


def test_wordings_that_never_come_again_are_forgotten() -> None:
    """An event loop's warnings contain addresses. Lines that still come are remembered and not logged as new."""
    repeats = Repeats()

    def said(wording: str, second: float) -> bool:
        record = logging.LogRecord("asyncio", logging.ERROR, "", 0, wording, (), None)
        record.created = 1_000_000 + second
        return repeats.filter(record)

    for number in range(3 * WORDINGS):
        assert said(f"Future exception was never retrieved: 0x{number:x}", number)
        going_on = [said("a socket was closed", number) for _ in range(5)]
        assert len(repeats._said) <= WORDINGS
    assert going_on == [False] * 5
    burst = [said(f"once: 0x{number:x}", 9_999) for number in range(3 * WORDINGS)]
    assert all(burst)
    assert len(repeats._said) <= WORDINGS


def test_the_host_does_not_repeat_a_failure() -> None:
    """The worker has said why it ends; that line stays the last one of its level."""
    stream = io.StringIO()
    setup_logs("plain", stream=stream)
    logging.getLogger("tokenmill.worker.service").critical("no answer to a fetch")
    host = logging.getLogger("mode.worker")
    host.error("[^--WorkerService]: Crashed reason=%r", ValueError(), exc_info=True)
    logging.getLogger("faust.worker").critical("[^Worker]: We experienced a crash! Reraising original exception...")
    host.error("[^--Web]: something else")
    said = [line.rsplit(": ", 1)[-1] for line in stream.getvalue().splitlines()]
    assert said == ["no answer to a fetch", "something else"]


def test_libraries_only_warn() -> None:
    """Their information is about themselves; a level above that holds for them, too."""
    stream = io.StringIO()
    setup_logs("plain", "ERROR", stream)
    logging.getLogger("aiokafka").warning("not shown")
    setup_logs("plain", "DEBUG", stream)
    logging.getLogger("aiokafka").info("not shown either")
    logging.getLogger("httpx2").info("nor this: its URLs may hold a secret")
    logging.getLogger("aiokafka").warning("shown")
    assert [line.rsplit(": ", 1)[1] for line in stream.getvalue().splitlines()] == ["shown"]
