"""The shape of the code: where tests lie, how long files are, that exceptions have reasons."""

import ast
import re
from pathlib import Path

from tests.structure.tree import CHECKOUT, PACKAGE, TESTS, functions, modules, python_files, test_files

LONGEST_FILE = 400
"""Lines. A longer file has two ideas; one that nobody reads alone is no file."""

NO_TEST_OF_ITS_OWN = {
    "limits.py": "constants; each is tested where it caps something",
    "errors.py": "names; each is tested where it is raised",
    "parser/spec.py": "data; every format is made of it",
}
"""Modules without a test file, and why. May only get shorter."""

OWN_TREE = {
    "ablations",
    "apiserver",
    "chaos",
    "chart",
    "conformance",
    "deploy",
    "integration",
    "judges",
    "properties",
    "structure",
}
"""Folders of tests about more than one module."""

SKIPS = {
    "bench/test_open_messages.py": "only Linux tells what a process holds",
    "bench/test_processes.py": "only Linux tells the processor time of another process",
    "conformance/shared_cases.py": "the cases of other projects are not part of this one",
    "deploy/test_image.py": "an image is built by a Docker daemon; everything short of that is tested without one",
    "integration/test_newcomers.py": "one interpreter runs the tests; in CI there must be each supported version",
    "support/browser.py": "a browser needs Chromium; in CI it must be there",
    "support/judging.py": "clients for Node need Node; in CI it must be there",
}
"""Files with tests that may be skipped, and why. May only get shorter."""

SKIPPED = re.compile(r"pytest\.(?:mark\.)?(?:skip|skipif|xfail|importorskip)\(")

UNEXPLAINED = re.compile(
    r"# (?:noqa(?!: [A-Z]+\d+(?:, ?[A-Z]+\d+)* (?:#|--) )|type: ignore(?!\[[a-z, -]+\] (?:#|--) ))",
)


def test_every_module_has_its_test_file() -> None:
    """`partition/partition.py` is tested by `tests/partition/test_partition.py`; a format's cases are enough."""
    cases = {path.stem for path in (TESTS / "cases" / "formats").iterdir()}
    tested = {path for path in modules() if path.parent.name == "formats" and path.stem in cases}
    tested |= {path for path in modules() if (TESTS / path.with_name(f"test_{path.name}")).exists()}
    missing = [str(path) for path in modules() if path not in tested]
    assert missing == sorted(NO_TEST_OF_ITS_OWN)


def test_every_test_file_has_its_module() -> None:
    """A test lies where its module lies, or in a folder about the whole."""
    mirrors = {path.with_name(f"test_{path.name}") for path in modules()}
    strays = [str(path) for path in test_files() if path.parts[0] not in OWN_TREE and path not in mirrors]
    assert strays == []


def test_files_are_short() -> None:
    """A file can be read in one go."""
    lengths = {str(path.relative_to(CHECKOUT)): len(path.read_text().splitlines()) for path in python_files()}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_every_test_says_which_behaviour_it_is_about() -> None:
    """The first line of a test is a sentence for the reader of a failure."""
    silent = [
        f"{path.relative_to(CHECKOUT)}:{function.lineno} {function.name}"
        for path in python_files()
        if path.name.startswith("test_")
        for function in functions(path)
        if function.name.startswith("test_") and not ast.get_docstring(function)
    ]
    assert silent == []


def test_nothing_is_skipped() -> None:
    """A test that can't run fails, so that nobody believes what was not tested."""
    skipping = {str(path.relative_to(TESTS)) for path in TESTS.rglob("*.py") if SKIPPED.search(path.read_text())}
    assert skipping == SKIPS.keys()


def test_no_deadline_loses_a_cancellation() -> None:
    """As that of `asyncio.wait_for` does, see `kafka.calls.deadline`."""
    users = [str(path) for path in modules() if re.search(r"await asyncio\.wait_for\(", (PACKAGE / path).read_text())]
    assert users == []


def test_tasks_are_ended_in_one_way() -> None:
    """By `tasks.cancelled`, which waits for them, and not for ever."""
    ending = re.compile(r"for (\w+) in .*:\n +\1\.cancel\(\)")
    assert [str(path) for path in modules() if ending.search((PACKAGE / path).read_text())] == ["tasks.py"]


def test_every_silenced_check_has_a_reason() -> None:
    """`noqa` and `type: ignore` name the rule, then say why."""
    bare = [
        f"{path.relative_to(CHECKOUT)}:{number}"
        for path in python_files()
        if path != Path(__file__)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if UNEXPLAINED.search(line)
    ]
    assert bare == []
