"""Mistakes in the core are noticed: each is made in a copy of the package, and the toy suite must fail on it.

A mutant is a replacement that must fit exactly once: when the code moves, its mutant moves with it. The first few are
tried with all other tests, all of them by `make mutants`: each is a run of its own, of a second or two.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

CHECKOUT = Path(__file__).parents[2]
PACKAGE = CHECKOUT / "service" / "tokenmill"
SUITE = "tests/properties/test_toy.py"

FAILED = 1
"""Exit code of pytest when tests failed; it has others for what could not be imported or collected."""


QUICK = 5
"""How many of the mutants are tried where nobody asks for all."""


class Mutant(NamedTuple):
    """A mistake."""

    name: str
    file: str
    right: str
    wrong: str


MUTANTS = (
    Mutant("hold-back off by one", "parser/markers.py", "Hit(position, -1, None)", "Hit(position + 1, -1, None)"),
    Mutant(
        "a longer marker is not waited for",
        "parser/markers.py",
        "if not final and self.begun",
        "if False and self.begun",
    ),
    Mutant(
        "a stray closer is kept",
        "parser/compile/modes.py",
        "(stray, Move(To.SWALLOWED))",
        "(stray, Move(To.VERBATIM))",
    ),
    Mutant(
        "held text is lost at the end",
        "parser/parser.py",
        "        _settle(run, self.grammar.modes)\n        self.grammar",
        "        self.grammar",
    ),
    Mutant(
        "hold-back off by one on the short path",
        "parser/modes/text.py",
        "state.hold(text[settled:],",
        "state.hold(text[settled + 1 :],",
    ),
    Mutant(
        "the message's cap is one too high",
        "parser/parser.py",
        "room = grammar.message_chars - self.chars",
        "room = grammar.message_chars - self.chars + 1",
    ),
    Mutant(
        "a snapshot without the open block",
        "parser/run/state.py",
        "return msgspec.msgpack.encode(state)\n",
        'return msgspec.msgpack.encode(msgspec.structs.replace(state, block=""))\n',
    ),
    Mutant("complete calls are not counted", "parser/run/run.py", "run.state.complete += 1", "pass"),
    Mutant("of markers at one place the shortest wins", "parser/markers.py", "-len(entry[0])", "len(entry[0])"),
    Mutant("too much is held", "parser/markers.py", "if any(rests)", "if rests"),
    Mutant(
        "a repeated opener ends the reasoning",
        "parser/compile/modes.py",
        "live += [(region.open, Move(To.SWALLOWED))]",
        "live += [(region.open, Move(To.REGION, TEXT))]",
    ),
    Mutant("no white space in markers", "parser/markers.py", "if mark.spaces and atoms and", "if False and atoms and"),
    Mutant(
        "a section's framing is lost",
        "parser/modes/text.py",
        'give_back(run, pending, code, OpenCall(Source()) if code == "unfinished-call" else None)',
        "pass",
    ),
    Mutant("the suffix is ignored", "parser/compile/grammar.py", "if not suffix:", "if True:"),
    Mutant("the short path knows no cap", "parser/parser.py", "if chars <= grammar.message_chars:", "if True:"),
    Mutant(
        "the call's cap is one too low",
        "parser/modes/call.py",
        "if len(buffer) - position <= room:",
        "if len(buffer) - position < room:",
    ),
    Mutant(
        "one call too many",
        "parser/run/run.py",
        "if state.calls >= rules.limits.calls:",
        "if state.calls > rules.limits.calls:",
    ),
    Mutant("an input does not end", "parser/run/run.py", "    _end_input(run, call)\n    if not", "    if not"),
    Mutant("a broken call is swallowed", "parser/modes/text.py", 'policy == "drop"', "True"),
    Mutant(
        "text behind calls is always kept",
        "parser/compile/grammar.py",
        'formats[0].text_after_calls) == "drop"',
        'formats[0].text_after_calls) == "never"',
    ),
    Mutant(
        "blocks are not closed",
        "parser/run/run.py",
        "not state.block or state.reasoning != reasoning",
        "not state.block",
    ),
    Mutant("deltas are not split", "parser/run/run.py", "if len(text) <= most", "if True"),
    Mutant(
        "a snapshot without the pending framing",
        "parser/run/state.py",
        "return msgspec.msgpack.encode(state)\n",
        'return msgspec.msgpack.encode(msgspec.structs.replace(state, pending=""))\n',
    ),
    Mutant("calls in the reasoning are drafts", "parser/compile/modes.py", '== "honour"', '== "never"'),
    Mutant(
        "all is held again and again",
        "parser/parser.py",
        'if state.held:\n        state.held, state.room = "", 0\n    position',
        "position",
    ),
)


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package to make mistakes in."""
    copy = tmp_path_factory.mktemp("mutants")
    shutil.copytree(PACKAGE, copy / "tokenmill")
    return copy


def verdict(package: Path) -> subprocess.CompletedProcess[str]:
    """What the toy suite says of this copy."""
    command = (sys.executable, "-m", "pytest", "-x", "-q", "--noconftest", "-p", "no:cacheprovider", SUITE)
    path = {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        command, cwd=CHECKOUT, env={**os.environ, **path}, text=True, capture_output=True, check=False
    )


@pytest.mark.slow
def test_the_package_itself_passes(package: Path) -> None:
    """Otherwise it would prove nothing that mutants fail."""
    told = verdict(package)
    assert told.returncode == 0, told.stdout


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_fits(mutant: Mutant) -> None:
    """It is a change of one place in the code as it is now."""
    assert (PACKAGE / mutant.file).read_text().count(mutant.right) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "mutant", MUTANTS if "TOKENMILL_MUTANTS" in os.environ else MUTANTS[:QUICK], ids=lambda m: m.name
)
def test_a_mistake_is_noticed(package: Path, mutant: Mutant) -> None:
    """The toy suite fails on it, by a test and not because the copy is broken."""
    path = package / "tokenmill" / mutant.file
    source = path.read_text()
    path.write_text(source.replace(mutant.right, mutant.wrong))
    try:
        told = verdict(package)
    finally:
        path.write_text(source)
    assert told.returncode == FAILED, told.stdout
