"""No markers at all: everything is visible text."""

from tokenmill.parser.spec import Format

PLAIN = Format(
    name="plain",
    summary="No markers: everything is visible text. For models without tools, and for providers that separate calls and reasoning themselves.",
    sample="The capital of France is Paris.",
)
