"""No markers at all: everything is visible text."""

from tokenmill.parser.spec import Format

PLAIN = Format(
    name="plain",
    summary="No markers: everything is visible text. For models without tools and servers that parse.",
    sample="The capital of France is Paris.",
)
