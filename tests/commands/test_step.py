"""`tokenmill parse --step`."""

from io import BytesIO, StringIO
from pathlib import Path

import pytest

from tokenmill.__main__ import main
from tokenmill.commands.step import asked, print_steps
from tokenmill.inspector.steps import ParseRequest
from tokenmill.terminal.console import Terminal
from tokenmill.terminal.visible import visible

CALL = '<tool_call>\n{"name":"f","arguments":{}}\n</tool_call>'


def test_every_piece_says_what_it_did() -> None:
    """What came of it, from where, what waits, and where the parser is."""
    page = StringIO()
    print_steps(Terminal(file=page), ParseRequest(text="Hi <tool", format="hermes", cuts=[3]))
    lines = page.getvalue().splitlines()
    assert lines[0] == '#1 text "Hi "'
    assert '  text-delta id="t0" delta="Hi "' in lines
    assert '    from 0 to 3: "Hi "' in lines
    assert lines[lines.index('#2 text "<tool"') + 1] == '  held "<tool"'
    assert any(line.startswith("  in text, ") for line in lines)
    assert any(line.startswith("#3 finish") for line in lines)


def test_model_text_acts_on_no_terminal() -> None:
    """JSON escapes neither the second block of control characters nor direction marks. A program gets all unchanged."""
    request = ParseRequest(text="a\x9b31m\u202eb <tool", format="hermes", dialect="openai")
    page, file = StringIO(), StringIO()
    print_steps(Terminal(file=page, force_terminal=True, color_system=None), request)
    print_steps(Terminal(file=file), request)
    assert visible(page.getvalue()) == page.getvalue()
    assert "a<U+009B>31m<U+202E>b" in page.getvalue()
    assert "a\x9b31m\u202eb" in file.getvalue()


def test_a_text_is_cut_as_it_is_read() -> None:
    """Or into pieces of a size; a captured stream is read whole."""
    assert asked({"format": "hermes"}, BytesIO(b"abcde"), None, 2, "stop", "native").cuts == [2, 4, 5]
    stream = asked({"format": "hermes"}, BytesIO(b"data: {}"), "sse+openai", None, "stop", "openai")
    assert (stream.records, stream.codec, stream.dialect, stream.text) == ("data: {}", "sse+openai", "openai", "")


def test_a_dialect_s_payloads_are_shown() -> None:
    """Where they belong."""
    page = StringIO()
    print_steps(Terminal(file=page), ParseRequest(records='{"delta": "Hi"}', codec="native", dialect="openai"))
    assert '"content":"Hi"' in page.getvalue()


def test_rejected_records_fail_it_at_its_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the same words as without the option; the others are shown."""
    stream = tmp_path / "stream.jsonl"
    stream.write_text('{"choices":[{"delta":{"content":"Hi"}}]}\nno JSON\n')
    said = []
    for option in (["--step"], []):
        assert main(["parse", "--codec", "openai", *option, str(stream)]) == 1
        shown, error = capsys.readouterr()
        assert "text-delta" in shown
        said.append(error)
    assert said[0] == said[1]
    assert said[0].startswith("tokenmill: these are not records of the codec openai:\n  record 2: ")


def test_it_is_an_option_of_parse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside others it is refused."""
    text = tmp_path / "answer.txt"
    text.write_text(CALL)
    assert main(["parse", "--format", "hermes", "--step", "--chunk", "9", str(text)]) == 0
    shown = capsys.readouterr().out
    assert "tool-call" in shown
    assert "in section0_call0, " in shown
    assert main(["parse", "--step", "--explain", str(text)]) == 2
    assert "--step" in capsys.readouterr().err
