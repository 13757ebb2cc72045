"""`tokenmill formats`."""

from pathlib import Path

import click

from tokenmill.commands.check_template import check
from tokenmill.commands.samples import choose, print_source, print_title
from tokenmill.demo.tools import TOOLS
from tokenmill.formats import FORMATS, compile_grammar
from tokenmill.formats.models import suggest_format
from tokenmill.parser import Format, MessageParser, Options
from tokenmill.terminal.console import Terminal
from tokenmill.terminal.readable import EventPrinter


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--model", metavar="NAME", help="Print only the format of this model; NAME is its name on Hugging Face.")
@click.option(
    "--check-template",
    "template",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="List the formats that read back what this model's chat template writes (needs the extra `templates`).",
)
@click.option("--json", "as_json", is_flag=True, help="With --check-template: print all results as one JSON object.")
def command(names: tuple[str, ...], model: str | None, template: Path | None, *, as_json: bool) -> None:
    """List the formats models write in, with a sample of each and its events."""
    console = Terminal()
    if sum(map(bool, (names, model is not None, template))) > 1:
        raise click.UsageError("--model and --check-template find a format, NAME shows one; give one of them")
    if as_json and template is None:
        raise click.UsageError("--json prints the results of --check-template; add that option")
    if template is not None:
        raise SystemExit(0 if check(template, console, as_json=as_json) else 1)
    if model is not None:
        print_title(console, *_suggested(model))
        return
    for format_ in choose(FORMATS, names):
        _show(console, format_)


def _suggested(model: str) -> tuple[str, str]:
    format_ = suggest_format(model, FORMATS)
    if format_ is None:
        raise click.ClickException(
            f"no format names the model {model!r}. A tuned model mostly writes like its base model: try that model's"
            " name, or its chat template: `tokenmill formats --check-template FILE`."
        )
    return format_.name, format_.summary


def _show(console: Terminal, format_: Format) -> None:
    print_title(console, format_.name, format_.summary)
    print_source(console, format_.sample)
    parser = MessageParser.of(compile_grammar(Options(format=format_.name, tools=TOOLS)), "sample")
    printer = EventPrinter(console, live=False)
    for event in parser.feed(format_.sample) + parser.finish():
        printer.show(event)
    console.print()
