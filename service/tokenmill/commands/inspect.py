"""`tokenmill inspect`."""

from pathlib import Path
from typing import BinaryIO

import click

from tokenmill.commands.settings import kafka_options
from tokenmill.config import Config
from tokenmill.errors import FatalError
from tokenmill.inspector.host import run_inspector
from tokenmill.inspector.playground import BODY_BYTES, Recording


@click.command()
@click.argument("file", type=click.File("rb"), required=False)
@click.option("--live", is_flag=True, help="Also show conversations on Kafka as they come.")
@kafka_options
def command(*, file: BinaryIO | None, live: bool, config: Config) -> int:
    """Show in a browser how the parser reads a text, or a stream captured in FILE, piece by piece.

    The page is at http://127.0.0.1:8096/inspect/ unless `inspect.bind` and `inspect.port` change that. Without --live
    it needs no broker, and contacts no other machine.
    """
    recording = None if file is None else recorded(file)
    return run_inspector(config, recording, live=live)


def recorded(file: BinaryIO) -> Recording:
    """Read a captured stream. Raises `FatalError` for one that is too long to be shown."""
    said = file.read(BODY_BYTES // 2 + 1)
    if len(said) > BODY_BYTES // 2:
        raise FatalError(f"{file.name}: the page shows files of up to {BODY_BYTES // 2} bytes; cut out what matters")
    return Recording(Path(file.name).name, said.decode(errors="replace"))
