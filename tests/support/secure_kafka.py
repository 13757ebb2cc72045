"""The same broker with a second listener: TLS and a login, for tests of secured clusters."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tokenmill.servers.kafka import KafkaServer
from tokenmill.servers.process import free_port

SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")

_MODULES = "org.apache.kafka.common.security"


class SecureKafkaServer(KafkaServer):
    """A broker whose `secure_bootstrap` accepts SASL_SSL with PLAIN, SCRAM and OAUTHBEARER; `bootstrap` needs no login.

    `identity` is a PEM file with the key and the certificate of the broker, `users` are names and passwords. Tokens are
    not signed: every claimed identity is accepted. This is only for tests of clients.
    """

    def __init__(
        self, folder: Path, identity: Path, users: Mapping[str, str], settings: Mapping[str, str] | None = None
    ) -> None:
        """Take `settings` that override all others."""
        plain = " ".join(f'user_{name}="{password}"' for name, password in users.items())
        logins = {
            "plain": f"{_MODULES}.plain.PlainLoginModule required {plain};",
            **{name.lower(): f"{_MODULES}.scram.ScramLoginModule required;" for name in SCRAM},
            "oauthbearer": f'{_MODULES}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="b";',
        }
        secure = {
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(identity),
            "sasl.enabled.mechanisms": ",".join(["PLAIN", *SCRAM, "OAUTHBEARER"]),
            **{f"listener.name.secure.{name}.sasl.jaas.config": login for name, login in logins.items()},
        }
        super().__init__(folder, {**secure, **(settings or {})})
        self._users = users
        self._secure_port = 0

    @property
    def secure_bootstrap(self) -> str:
        """Return the address that requires TLS and a login."""
        self._secure_port = self._secure_port or free_port()
        return f"127.0.0.1:{self._secure_port}"

    def listeners(self) -> Mapping[str, str]:
        return {**super().listeners(), "SECURE": self.secure_bootstrap}

    def format_options(self) -> Sequence[str]:
        """Return SCRAM's users, which are records of the cluster's own log."""
        users = [
            f"{scram}=[name={name},password={password}]" for scram in SCRAM for name, password in self._users.items()
        ]
        return [part for user in users for part in ("--add-scram", user)]
