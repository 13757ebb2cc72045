"""A tokenmill gateway as a child process."""

from tokenmill.servers.ours import ClientsProcess


class GatewayProcess(ClientsProcess):
    """`tokenmill gateway`."""

    name = "the gateway"
    section = "gateway"
