"""The documentation is true: links lead somewhere, code runs and prints what the page says, settings exist."""

import doctest
import io
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from tests.structure.pages import FENCE, Block, blocks, links, pages
from tests.structure.tree import CHECKOUT, DOCS, PACKAGE
from tests.support.parsing import parse
from tokenmill.config import load_config
from tokenmill.demo.samples import samples
from tokenmill.formats import compile_grammar
from tokenmill.parser import read_options
from tokenmill.terminal.console import Terminal
from tokenmill.terminal.readable import EventPrinter

RUN_S = 60

ENVIRON = {
    **os.environ,
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "PYTHONPATH": str(PACKAGE.parent),
}
"""Programs and commands of the pages are those of this checkout, whatever is installed."""


def name(block: Block) -> str:
    return f"{block.page.relative_to(CHECKOUT)}:{block.line}"


def by_page(language: str) -> list[list[Block]]:
    """Blocks of a page together: a later one may build on an earlier one."""
    found: dict[Path, list[Block]] = {}
    for block in blocks(language):
        found.setdefault(block.page, []).append(block)
    return list(found.values())


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_links_lead_to_files(page: Path) -> None:
    """Every relative link names a file or folder of the checkout."""
    assert [target for target in links(page) if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_a_row_of_a_table_follows_another_or_the_head(page: Path) -> None:
    """Behind an empty line it would be text with bars in it."""
    lines = ["", *FENCE.sub("", text_of(page)).splitlines()]
    below = [line for above, line in pairwise(lines) if line.startswith("|") and not above.startswith("|")]
    heads = [line for line, rule in pairwise(lines) if rule.startswith("| ---")]
    assert below == heads


def test_every_page_can_be_reached() -> None:
    """From the README, by links."""
    seen, waiting = set(), [CHECKOUT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or not page.exists():
            continue
        seen.add(page)
        waiting += [(page.parent / target).resolve() for target in links(page) if target.endswith(".md")]
    assert set(DOCS.rglob("*.md")) <= seen


def test_no_page_counts_formats_by_hand() -> None:
    """Whoever adds a format need not look for the numbers; generated pages count by themselves."""
    counted = re.compile(r"\d+(?: such)? \[?formats\b")
    written = [page for page in pages() if DOCS / "reference" not in page.parents]
    assert [str(page) for page in written if counted.search(text_of(page))] == []


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", by_page("pycon"), ids=lambda page: str(page[0].page.relative_to(CHECKOUT)))
def test_python_sessions_print_what_the_page_says(page: list[Block]) -> None:
    """Blocks `pycon` of a page run in order, in one namespace."""
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    namespace: dict[str, object] = {}
    for block in page:
        test = doctest.DocTestParser().get_doctest(block.text, namespace, name(block), str(block.page), block.line)
        complaints: list[str] = []
        runner.run(test, out=complaints.append, clear_globs=False)
        namespace = test.globs
        assert complaints == []


@pytest.mark.parametrize("block", blocks("python"), ids=name)
def test_python_programs_run(block: Block, tmp_path: Path) -> None:
    """Blocks `python` are whole programs that need no server: they end without an error."""
    program = tmp_path / "program.py"
    program.write_text(block.text)
    run = subprocess.run(
        [sys.executable, program],
        cwd=tmp_path,
        env=ENVIRON,
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("page", by_page("console"), ids=lambda page: str(page[0].page.relative_to(CHECKOUT)))
def test_shell_sessions_print_what_the_page_says(page: list[Block], tmp_path: Path) -> None:
    """Blocks `console` of a page: lines after `$ ` are run, what follows up to the next is what they print."""
    for session in "\n".join(block.text for block in page).removeprefix("$ ").split("\n$ "):
        command, _, printed = session.partition("\n")
        while command.endswith("\\"):
            more, _, printed = printed.partition("\n")
            command = f"{command}\n{more}"
        run = subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            env=ENVIRON,
            text=True,
            timeout=RUN_S,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert run.stdout.strip() == printed.strip(), command


@pytest.mark.parametrize("block", blocks("toml"), ids=name)
def test_settings_are_accepted(block: Block, tmp_path: Path) -> None:
    """Blocks `toml` are configurations that the worker starts with."""
    path = tmp_path / "tokenmill.toml"
    path.write_text(block.text)
    load_config(path, {})


SHOWN = [block for block in blocks("text") if re.match("── (?!letters )", block.text)]
"""What the demo shows of one of its samples; tests/demo compares what it shows of the conversation with a tool."""


@pytest.mark.parametrize("block", SHOWN, ids=name)
def test_pages_show_what_the_demo_prints(block: Block) -> None:
    """Title, answer and events of a sample, as they are printed where nobody waits for each delta."""
    words = block.text.split()
    sample = next(sample for sample in samples() if sample.name == words[1])
    printed = io.StringIO()
    console = Terminal(file=printed, width=120)
    printer = EventPrinter(console, live=False)
    for event in parse(compile_grammar(read_options(sample.options)), [sample.text], str(sample.reason)):
        printer.show(event)
    shown = f"── {sample.name} {sample.about}\n{sample.text}\n\n{printed.getvalue()}"
    assert block.text.strip().split("\n") == [line.rstrip() for line in shown.strip().split("\n")]


def test_the_tutorial_shows_the_demo() -> None:
    """A good answer and a broken one."""
    assert {block.text.split()[1] for block in SHOWN} == {"hermes", "malformed"}
