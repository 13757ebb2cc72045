"""TypeScript's compiler reads the inspector's modules: no build step needs it, and types are right all the same."""

import subprocess
from pathlib import Path

from tests.support.judging import NODE, node
from tokenmill.inspector import page

ASSETS = Path(page.__file__).parent / "assets"

OPTIONS = (
    *("--noEmit", "--allowJs", "--checkJs", "--strict"),
    *("--target", "ES2022", "--module", "ES2022", "--moduleResolution", "bundler"),
    *("--lib", "ES2023,DOM,DOM.Iterable"),
)

CHECK_S = 120
"""It takes about four seconds; a machine with much to do needs longer."""


def test_the_modules_of_the_page_have_right_types() -> None:
    """All of them, strictly."""
    compiler = NODE / "node_modules" / "typescript" / "bin" / "tsc"
    modules = sorted(map(str, ASSETS.glob("*.js")))
    done = subprocess.run(
        [node(), str(compiler), *OPTIONS, *modules], capture_output=True, text=True, timeout=CHECK_S, check=False
    )
    assert modules
    assert done.stdout == ""
    assert done.returncode == 0
