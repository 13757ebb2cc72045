"""The page of the APIs that the front speaks: what each field of a request does."""

from collections.abc import Iterator

import msgspec

from tokenmill.apis import APIS, Api, Field
from tokenmill.gen import markdown


def page() -> str:
    """Every field of every API."""
    return markdown.page("APIs", *(text.strip() for text in ABOUT), *(block for api in APIS for block in _api(api)))


def _api(api: Api) -> Iterator[str]:
    yield f"## {api.title}"
    yield f"`POST {api.path}`. {api.fields.about}"
    yield markdown.table(("field", "does", ""), [_row(row) for row in api.fields.rows])


def _row(row: Field) -> tuple[str, str, str]:
    accepted = ", ".join(markdown.code(_literal(value)) for value in row.accepts)
    taken = f" Taken, as it asks for nothing: {accepted}." if accepted else ""
    return markdown.code(row.name), row.does, row.text + taken


def _literal(value: object) -> str:
    """A value as JSON writes it."""
    return msgspec.json.encode(value).decode()


ABOUT = (
    """
The front speaks three APIs. What a request asks for is read into one shape, whichever it came by, and checked before
anything is asked of a model: a refusal has the status 400, the error object of its API, and the place of what is wrong.
""",
    """
| does | meaning |
| --- | --- |
| used | it changes the answer |
| forwarded | it is passed on as it is to servers that speak the same API, and they decide |
| noted | it is taken and has no effect, because it means nothing here; the reason is beside it |
| refused | it is refused by its name, and the reason says what to do instead |
""",
    """
A field that is null is as good as absent. Types are as strict as JSON's. Images are passed on as addresses (`https://`,
`http://`) or data (`data:image/…`); files, sound and documents are refused where they stand, as are tools that a server
would have to run.
""",
)
