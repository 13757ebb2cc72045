"""Events over HTTP: whoever waits for an answer reads its log, and comes back to where it was cut off.

The log is the truth: what a client gets is rendered from native events of the topic, and the id of each frame is a
place in it, so any gateway can go on where another one ended. The modules `position`, `framing`, `view` and `window`
are functions over records; asyncio, Kafka and aiohttp are at the rim.
"""

from tokenmill.gateway.grant import Credentials, Grant

__all__ = ["Credentials", "Grant"]
