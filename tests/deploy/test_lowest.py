"""The oldest packages that `pyproject.toml` allows: a user who has them already keeps them, without a warning.

`make lowest` runs all quick tests with them.
"""

import re
import tomllib

import pytest

from tests.structure.tree import CHECKOUT
from tests.support.making import made

LOWEST_S = 280
"""Seconds for all of it; the packages are fetched first."""

PARTS = ("tests/codecs", "tests/commands", "tests/config", "tests/parser/run", "tests/parser/values", "tests/store")
"""Tests of what depends most on others' code: schemas, JSON, tables on a terminal, options, Redis."""

BOUND = re.compile(r"^([\w-]+)(?:\[[\w,]+\])?>=([\w.]+)")

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def test_the_lock_pins_the_bounds() -> None:
    """`make lock` was run after the last change of one."""
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    extras = [each for extra in project["optional-dependencies"].values() for each in extra]
    found = [BOUND.match(each) for each in [*project["dependencies"], *extras]]
    bounds = {bound[1]: bound[2] for bound in found if bound}
    lock = (CHECKOUT / "deploy/lowest.lock").read_text()
    pins = dict(re.findall(r"^([\w.-]+)(?:\[[\w, -]+\])?==(\S+)", lock, flags=re.MULTILINE))
    assert len(bounds) > 15
    differing = {name: (bound, pins.get(name)) for name, bound in bounds.items() if not same(bound, pins.get(name))}
    assert not differing


def same(bound: str, pin: str | None) -> bool:
    """Whether these are one version: `2.13` is `2.13.0`."""
    return pin is not None and re.fullmatch(rf"{re.escape(bound)}(?:\.0)*", pin) is not None


def test_everything_works_with_them() -> None:
    """A bound that is too low switches checks off without a word, or breaks what was tried with newer ones only."""
    made("lowest", f"PYTEST_ARGS=-p no:cacheprovider {' '.join(PARTS)}", seconds=LOWEST_S)
