"""A caller alone, and a front without one, as child processes."""

from tokenmill.servers.front import FrontProcess
from tokenmill.servers.ours import OurProcess


class CallerProcess(OurProcess):
    """`tokenmill caller`."""

    name = "the caller"
    section = "caller"


class FrontAlone(FrontProcess):
    """`tokenmill front --no-caller`."""

    arguments = ("--no-caller",)
