"""A front, or a caller alone, as a child process."""

from pathlib import Path

from tokenmill.servers.ours import ClientsProcess, OurProcess, Settings


class FrontProcess(ClientsProcess):
    """`tokenmill front`, with a caller in it or without."""

    name = "the front"
    section = "front"

    def __init__(self, folder: Path, settings: Settings, *, caller: bool = True) -> None:
        super().__init__(folder, settings)
        self.arguments = () if caller else ("--no-caller",)


class CallerProcess(OurProcess):
    """`tokenmill caller`."""

    name = "the caller"
    section = "caller"
