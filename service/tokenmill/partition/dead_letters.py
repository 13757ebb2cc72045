"""Records that can't be used, in the form that goes to the dead-letter topic."""

from tokenmill.errors import RecordError
from tokenmill.records import Output, Record

TEXT_CHARS = 1000
"""Length of the reason in the header `tm-error`, at most: it may quote the record."""

RECORD_OVERHEAD = 100
"""Bytes of a record besides key, value and headers: lengths and offsets, at their longest."""

HEADER_OVERHEAD = 10
"""Bytes of one header besides its name and value."""


def dead_letter(record: Record, source: tuple[str, int], problem: RecordError, topic: str, cap: int) -> Output:
    """The record as it came, with the reason in its headers. `source` is its topic and partition.

    A record of more than `cap` bytes loses its value and, if that is not enough, also its key and its own headers;
    the header `tm-truncated` then marks it.
    """
    reason = [
        ("tm-error-code", problem.code.encode()),
        ("tm-error", str(problem)[:TEXT_CHARS].encode(errors="replace")),
        ("tm-source-topic", source[0].encode()),
        ("tm-source-partition", b"%d" % source[1]),
        ("tm-source-offset", b"%d" % record.offset),
    ]
    whole = Output(topic, record.timestamp, record.key, record.value, [*record.headers, *reason])
    if _size(whole) <= cap:
        return whole
    reason.append(("tm-truncated", b"1"))
    without_value = Output(topic, record.timestamp, record.key, None, [*record.headers, *reason])
    return without_value if _size(without_value) <= cap else Output(topic, record.timestamp, None, None, reason)


def _size(output: Output) -> int:
    headers = sum(len(name.encode()) + len(value or b"") + HEADER_OVERHEAD for name, value in output.headers)
    return len(output.key or b"") + len(output.value or b"") + headers + RECORD_OVERHEAD
