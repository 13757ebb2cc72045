"""`python -m tokenmill.gen` writes the generated files; `--check` names those that are out of date and exits with 1.

A file among the generated ones that no function makes, such as the page of a removed format, is out of date, too.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from tokenmill.gen import FILES

CHECKOUT = Path(__file__).resolve().parents[3]

GENERATED = "docs/reference"
"""Folder in which everything is generated."""

PLOTS = "docs/pictures/*.svg"
"""Pattern of further files that are all generated."""


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if a file is out of date.")
def main(*, check: bool) -> None:
    """Write the files that are generated from the code."""
    stale = {path: text for name, make in FILES.items() if _differs(path := CHECKOUT / name, text := make())}
    for path, text in stale.items():
        click.echo(f"{'out of date' if check else 'written'}: {path.relative_to(CHECKOUT)}")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    gone = sorted(set(_generated()) - {CHECKOUT / name for name in FILES})
    for path in gone:
        click.echo(f"{'made by nothing' if check else 'removed'}: {path.relative_to(CHECKOUT)}")
        if not check:
            path.unlink()
    if check and (stale or gone):
        click.echo("run `make gen`", err=True)
        sys.exit(1)


def _generated() -> Iterator[Path]:
    yield from (path for path in (CHECKOUT / GENERATED).rglob("*") if path.is_file())
    yield from CHECKOUT.glob(PLOTS)


def _differs(path: Path, text: str) -> bool:
    return not path.exists() or path.read_text(encoding="utf-8") != text


if __name__ == "__main__":
    main()
