"""The page of the dead letters: every reason for one."""

from tokenmill.errors import RECORD_ERRORS
from tokenmill.gen import describe, markdown


def page() -> str:
    """Return the page, with every code and its meaning."""
    rows = [(markdown.code(error.code), describe.about(error)) for error in RECORD_ERRORS]
    return markdown.page(
        "Dead letters",
        "A record that can't be used goes to the topic `tokens.dlq`, to the partition with the same number.\n"
        "Key, value and headers are unchanged, except for U+FFFD in place of what is not UTF-8 in a header's name;\n"
        "these headers are added:",
        markdown.table(
            ("header", "holds"),
            [
                (markdown.code("tm-error-code"), "one of the codes below"),
                (markdown.code("tm-error"), "a sentence about the problem"),
                (markdown.code("tm-source-topic"), "the record's topic"),
                (markdown.code("tm-source-partition"), "its partition, decimal"),
                (markdown.code("tm-source-offset"), "its offset, decimal"),
                (
                    markdown.code("tm-truncated"),
                    "`1` if the record was too large: its value is left out, and if need be its key and own headers",
                ),
            ],
        ),
        "The metric `tokenmill_dead_letters_total` counts them by code. `tokenmill dlq list` shows them, and\n"
        "`tokenmill dlq replay` publishes them again. For each that it published it leaves a receipt on the topic: a\n"
        "record without a value, whose header `tm-receipt` holds the dead letter's offset. A replayed record has the\n"
        "header `tm-replayed`, and so has its dead letter if it fails again.",
        markdown.table(("code", "meaning"), rows),
    )
