"""`python -m tokenmill.gen` writes the generated files; `--check` names those that are out of date and answers 1."""

import sys
from pathlib import Path

import click

from tokenmill.gen import FILES

CHECKOUT = Path(__file__).resolve().parents[3]


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
    if check and stale:
        click.echo("run `make gen`", err=True)
        sys.exit(1)


def _differs(path: Path, text: str) -> bool:
    return not path.exists() or path.read_text(encoding="utf-8") != text


if __name__ == "__main__":
    main()
