"""A front as a child process."""

from tokenmill.servers.ours import ClientsProcess


class FrontProcess(ClientsProcess):
    """`tokenmill front`, with a caller in it."""

    name = "the front"
    section = "front"
