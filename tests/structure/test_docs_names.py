"""Names of modules, files and commands on the pages are those that exist."""

import re
import subprocess
from pkgutil import resolve_name

import pytest

from tests.structure.pages import FENCE, Block, blocks, pages
from tests.structure.tree import CHECKOUT, PACKAGE

DOTTED = re.compile(r"`(tokenmill(?:\.\w+)+)(?:\(\))?`")
FILE = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|lua|json|toml|yaml))`")

ROOTS = (CHECKOUT, CHECKOUT / "helm" / "tokenmill", PACKAGE, PACKAGE / "parser")
"""Where the pages' relative names of files begin."""

OTHERS = {
    "docs/howto/add-a-format.md": {"service/tokenmill/formats/acme.py", "tests/formats/test_acme.py"},
    "docs/howto/put-it-before-sglang.md": {"sglang/srt/entrypoints/openai/serving_chat.py"},
}
"""Files that a page names by intent although they are not here: what its reader makes, and another project's."""

COMMANDS = frozenset(
    {"claude", "curl", "docker", "helm", "kubectl", "llama-server", "make", "ollama", "pip", "python", "tokenmill"}
    | {"echo", "export", "printf", "source"}
)
"""What lines of the pages' `sh` blocks begin with; not all of these are on every machine."""

LINE = re.compile(r"(?:[A-Z_]+=(?:'[^']*'|\S*) +)*(?P<word>[^\s=]+)(?=\s|$)")
"""A command line: variables for it, and its first word."""


def test_names_of_modules_exist() -> None:
    """Dotted ones that begin with the package's name, in text."""
    missing = []
    for page in pages():
        for dotted in DOTTED.findall(FENCE.sub("", page.read_text())):
            try:
                resolve_name(dotted)
            except (ImportError, AttributeError):
                missing.append((page.name, dotted))
    assert missing == []


def test_named_files_exist() -> None:
    """Those with a folder, in text."""
    missing = []
    for page in pages():
        others = OTHERS.get(str(page.relative_to(CHECKOUT)), set())
        named = set(FILE.findall(FENCE.sub("", page.read_text()))) - others
        missing += [(page.name, name) for name in named if not any((root / name).exists() for root in ROOTS)]
    assert missing == []


@pytest.mark.parametrize("block", blocks("sh"), ids=lambda block: f"{block.page.relative_to(CHECKOUT)}:{block.line}")
def test_shell_commands_are_commands(block: Block) -> None:
    """They are not run, but what a line break has made of a comment is no program."""
    run = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True, timeout=20, check=False)
    assert run.returncode == 0, run.stderr
    assert not run.stderr
    assert [word for word in _words(block.text) if word not in COMMANDS] == []


def _words(text: str) -> list[str]:
    lines = re.sub(r"(?:\\|\|)\n", " ", text).splitlines()
    found = [LINE.match(line) for line in lines if line.strip() and not line.startswith("#")]
    return [match["word"] for match in found if match]


def test_make_targets_exist() -> None:
    """Those that a line of an `sh` block begins with."""
    targets = set(re.findall(r"^([a-z-]+):", (CHECKOUT / "Makefile").read_text(), re.MULTILINE))
    used = {word for block in blocks("sh") for word in re.findall(r"^make ([a-z-]+)", block.text, re.MULTILINE)}
    assert used
    assert used <= targets
