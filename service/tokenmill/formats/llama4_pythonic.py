"""A list of Python calls, mostly between two tokens. Without them it is read as in `pythonic`."""

from tokenmill.formats.notations import python_history
from tokenmill.formats.python_shapes import bare_calls, marked_calls
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Format

LLAMA4_PYTHONIC = Format(
    name="llama4_pythonic",
    summary="`[f(a=1), g()]` between `<|python_start|>` and `<|python_end|>`, or in running text.",
    sample='I\'ll look it up.\n<|python_start|>[get_weather(city="Paris", days=3)]<|python_end|>',
    models=("Llama-4",),
    history=python_history("<|python_start|>[$name($arguments)]<|python_end|>", "$json"),
    sections=(marked_calls(marker("<|python_start|>"), marker("<|python_end|>")), bare_calls()),
    unknown_tool="text",
)
