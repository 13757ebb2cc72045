"""The page of the APIs."""

from tokenmill.apis import APIS
from tokenmill.gen import apis


def test_every_field_is_on_the_page() -> None:
    """With what it does."""
    page = apis.page()
    for api in APIS:
        assert f"`POST {api.path}`" in page
        assert all(f"| `{row.name}` | {row.does} | " in page for row in api.fields.rows)


def test_values_that_are_taken_are_told() -> None:
    """As a client writes them."""
    assert 'Taken, as it asks for nothing: `["text"]`.' in apis.page()
