"""A payload as one server-sent event, as the HTML standard reads it.

1. A payload is one line: JSON needs no line break, so any is replaced by a blank; a payload other than JSON (`[DONE]`)
   is a word. So nothing from a model, or from any writer to the topic, can begin another field, event or line.
2. Line ends are LF, which all readers take.
"""

from tokenmill.dialects.dialect import Dialect

_TYPE = b'{"type":"'


def server_sent(payload: bytes, dialect: Dialect) -> bytes:
    """Return the payload as `data`, with the event's name before it if the dialect's clients need one."""
    line = on_one_line(payload)
    name = _name(line) if dialect.names_events else b""
    return b"event: %b\ndata: %b\n\n" % (name, line) if name else b"data: %b\n\n" % line


def on_one_line(payload: bytes) -> bytes:
    """Return the payload without line breaks: where JSON may have one, it may have a blank."""
    if b"\n" in payload or b"\r" in payload:
        return payload.replace(b"\n", b" ").replace(b"\r", b" ")
    return payload


def _name(payload: bytes) -> bytes:
    """Return the `type` of a payload that begins with it; empty for `[DONE]` and the like."""
    if not payload.startswith(_TYPE):
        return b""
    return payload[len(_TYPE) :].partition(b'"')[0]
