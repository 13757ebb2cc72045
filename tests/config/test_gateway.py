"""The gateway's settings are safe as they are."""

from tokenmill.config import Config, Gateway


def test_nobody_else_can_reach_a_gateway_without_rights() -> None:
    """The defaults listen on the loopback only."""
    assert (Gateway().bind, Gateway().port, Gateway().auth) == ("127.0.0.1", 8090, "none")


def test_secrets_are_masked() -> None:
    """In whatever prints the configuration."""
    gateway = Gateway(jwt_secret="hidden-1", ticket_secret="hidden-2")
    assert "hidden" not in repr(Config(gateway=gateway))
