"""Events over HTTP: a client that waits for an answer reads its log, and comes back to where it was cut off.

The log is the truth: what a client gets is rendered from native events of the topic, and the id of each frame is a
place in it, so any gateway can continue where another one ended.

`host` is the process, and `routes` has the handlers of each address. They stand on `streams`, which sends what is read,
on `websocket` and on `ingest`, which writes; these on `http`, and all on `auth`, which decides what each client may do,
and on `event_log`, which reads the topic. The linter knows the order, see `pyproject.toml`.
"""

from tokenmill.gateway.auth.grant import Credentials, Grant

__all__ = ["Credentials", "Grant"]
