"""The documentation page on the parser's costs, written by `tokenmill bench parser --write`."""

from collections.abc import Mapping

from tokenmill.bench.parser import LONG, Line, Report
from tokenmill.bench.summary import markdown

BUDGETS = """\
The budgets are at most 6 loops for a chunk of plain text, at most 15 for a chunk inside a call, whatever its length,
an exponent of at most 1.05, and at most 1 ms for the slowest single chunk of a text of 200,000 characters.

The slowest chunk is the last one, with which all arguments are read. Only what no library can read takes longer: calls
in Python syntax, invalid JSON and invalid XML."""

_INTRO = """\
Written by `tokenmill bench parser --write`, from one run of it: nothing here is edited.

Each text is parsed in chunks of {chunk_chars} characters. Costs are in *loops*: a loop is `str.find` of a marker's
first character and an append to a list, in CPython, which runs in turns with the parser over the same chunks. A figure
is the median of the ratios of all rounds. The signs in a text are characters with which markers begin."""

_GROWTH = """\
The exponent is that of the total time over the length, from 10,000 characters on: 1 is linear, 2 quadratic."""


def page(report: Report, conditions: Mapping[str, str]) -> str:
    """Return the page. `conditions` are what the figures depend on besides the code: versions, processor."""
    sizes = sorted({line.chars for line in report.lines})
    long = [LONG] if LONG in sizes else []
    exponents = {(growth.grammar, growth.text): f"{growth.exponent:.2f}" for growth in report.growth}
    subjects: dict[tuple[str, str, str], dict[int, Line]] = {}
    for line in report.lines:
        subjects.setdefault((line.grammar, line.format, line.text), {})[line.chars] = line
    rows = [
        (
            grammar,
            format_name,
            text,
            *(f"{several[size].ratio:.1f}" for size in sizes),
            exponents.get((grammar, text), ""),
            *(f"{several[size].slowest_us / 1000:.2f}" for size in long),
        )
        for (grammar, format_name, text), several in subjects.items()
    ]
    titles = [*(f"{size:,} characters" for size in sizes), "exponent", *(f"slowest of {size:,}, ms" for size in long)]
    loop_us = sorted(line.loop_us for line in report.lines)
    measured = {**conditions, "a loop": f"{loop_us[0]:.3f} to {loop_us[-1]:.3f} µs"}
    return "\n".join(
        [
            "# What the parser costs",
            "",
            _INTRO.format(chunk_chars=report.chunk_chars),
            "",
            *markdown(["grammar", "format", "text", *titles], rows),
            "",
            _GROWTH,
            BUDGETS,
            "",
            *markdown(
                ["memory of a message that is", "bytes"],
                [(each.what, f"{each.bytes_per_message:,.0f}") for each in report.memory],
            ),
            "",
            *markdown(["measured with", ""], measured.items()),
            "",
        ]
    )
