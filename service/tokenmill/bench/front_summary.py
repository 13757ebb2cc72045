"""The results of the front's benchmark, for people."""

from collections.abc import Iterator, Sequence
from statistics import median

from tokenmill.bench.front_report import RATE, Compared, Figure, Report, Side
from tokenmill.bench.summary import Finding, Summary, Table
from tokenmill.caller.pace import MOST_S

ABOUT = """\
A cheap model server writes {rate} tokens a second of each answer, by OpenAI's chat completions, to clients that ask it
directly, and to the same clients through `tokenmill front`: its caller asks the server as it asks vLLM, and a worker
reads the text in the format `hermes`, on a real Kafka and with a real Redis. Each client asks again as soon as its
answer is over, on the same connection. It is not an SDK, which would cost more than what is measured: of the events it
reads only a token's text, the time at which the server sent it. A test checks that it measures what OpenAI's SDK does.

First token: the time since the request was sent. Each token: the time since the model server sent it. All processes
share the machine, clients and model server included. Figures are medians of all rounds, in which both ways take turns;
what the front adds is the median of the differences of each round. `gateway.flush_ms` of the front is {flush_ms}: it
collects tokens this long for one write, except an answer's first and last. While Kafka is slow to acknowledge, a caller
holds an answer back for up to {pause_ms:g} ms, and then writes all its new tokens together."""


def front_summary(report: Report) -> Summary:
    """Return the tables and findings."""
    command = "tokenmill bench front --write"
    about = ABOUT.format(rate=RATE, flush_ms=report.flush_ms, pause_ms=1000 * MOST_S)
    tables = [_times(report.compared), _costs(report.compared)]
    return Summary("What the front costs", command, about, tables, list(_findings(report)))


def _times(compared: Sequence[Compared]) -> Table:
    columns = (
        "load",
        "way",
        "answers/s",
        "tokens/s",
        "first token p50, ms",
        "p99",
        "each token p50, ms",
        "p99",
    )
    rows = [
        row
        for each in compared
        for row in (_way(each.load.name, "straight", each.direct), _way(each.load.name, "the front", each.front))
    ]
    return Table(columns, rows, texts=2)


def _way(load: str, way: str, sides: Sequence[Side]) -> tuple[str, ...]:
    times: tuple[Figure, ...] = (
        lambda side: side.first_p50_ms,
        lambda side: side.first_p99_ms,
        lambda side: side.token_p50_ms,
        lambda side: side.token_p99_ms,
    )
    return (
        load,
        way,
        f"{median(side.answers_s for side in sides):,.1f}",
        f"{median(side.tokens_s for side in sides):,.0f}",
        *(f"{median(map(figure, sides)):.1f}" for figure in times),
    )


def _costs(compared: Sequence[Compared]) -> Table:
    names = list(compared[0].costs())
    rows = [(each.load.name, *(f"{each.costs()[name]:,.0f}" for name in names)) for each in compared]
    return Table(("processor time for a token, µs, through the front", *names), rows)


def _findings(report: Report) -> Iterator[Finding]:
    for each in report.compared:
        budgets = each.load.budgets
        first = each.added(lambda side: side.first_p50_ms), each.added(lambda side: side.first_p99_ms)
        token = each.added(lambda side: side.token_p50_ms), each.added(lambda side: side.token_p99_ms)
        name = each.load.name
        yield Finding(
            f"{name}: the first token comes {first[0]:.1f} ms later (p50), {first[1]:.1f} ms (p99)",
            "at most 15 and 50" if budgets else "",
        )
        yield Finding(
            f"{name}: each token comes {token[0]:.1f} ms later (p50), {token[1]:.1f} ms (p99)",
            "at most 30 (p99)" if budgets else "",
        )
        yield Finding(
            f"{name}: {each.share(lambda side: side.tokens_s):.2f} of the tokens a second",
            "at least 0.95" if budgets else "",
        )
        in_line = median(side.in_line for side in each.front)
        yield Finding(f"{name}: {in_line:.0%} of the time the front was ready to work, and others had the processors")
    stops = report.stops
    yield Finding(
        f"the model server is left {stops.p50_ms:.0f} ms (p50) and {stops.p99_ms:.0f} ms (p99) after a cancel, "
        f"of {stops.count}",
        "at most 300 (p99)",
    )
