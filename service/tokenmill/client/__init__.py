"""Typed helpers for users' own code: publish a model's text as chunks, and follow the resulting events."""

from tokenmill.errors import MissingExtra

try:
    from tokenmill.client.connection import Connection
    from tokenmill.client.follow import Follower
    from tokenmill.client.publish import MessagePublisher, Publisher
    from tokenmill.client.repeats import Repeats
    from tokenmill.client.stream import publish_stream
except ModuleNotFoundError as missing:
    raise MissingExtra("tokenmill.client", missing, "client") from missing

__all__ = ["Connection", "Follower", "MessagePublisher", "Publisher", "Repeats", "publish_stream"]
