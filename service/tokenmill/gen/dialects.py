"""The page of the output dialects: the same events in each."""

from tokenmill.dialects import DIALECTS, Dialect, Envelope
from tokenmill.events import Event
from tokenmill.formats.hermes import HERMES
from tokenmill.gen import markdown
from tokenmill.library import Parser

TIME = 1_760_000_000_000
"""Time of the samples, in milliseconds since the epoch: October 2025."""


def page() -> str:
    """Return the page, with every dialect and the payloads of a short message."""
    blocks = []
    for dialect in DIALECTS:
        blocks += [f"## `{dialect.name}`", f"{dialect.summary}.", markdown.fenced(_payloads(dialect), "text")]
    return markdown.page(
        "Dialects",
        "A dialect renders native events for a kind of client.\n"
        "The topic `events` has the native one; `[[outputs]]` of the configuration add topics in others.\n"
        f"Each line is one record, made from the sample of the format [{HERMES.name}](formats/{HERMES.name}.md).",
        *blocks,
    )


def _payloads(dialect: Dialect) -> str:
    parser = Parser(HERMES.name, identity="")
    events: list[Event] = [*parser.feed(HERMES.sample), *parser.finish()]
    envelope = Envelope("c1", "m1", 0, TIME, parser.grammar.message_start)
    state = dialect.state_type() if dialect.state_type else None
    payloads = [
        payload for seq, event in enumerate(events) for payload in dialect.encode(state, envelope, event, seq, TIME)
    ]
    return "\n".join(payload.decode() for payload in payloads)
