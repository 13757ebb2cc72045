"""The page of the APIs."""

from tokenmill.apis import APIS
from tokenmill.caller.kinds import KINDS
from tokenmill.gen import apis


def test_every_field_is_on_the_page() -> None:
    """With what it does."""
    page = apis.page()
    for api in APIS:
        assert f"`POST {api.path}`" in page
        assert all(f"| `{row.name}` | {row.does} | " in page for row in api.fields.rows)


def test_the_page_says_what_every_kind_of_server_is_told() -> None:
    """Each has a row, alone or with its likes."""
    told = [line.split(" | ")[0] for line in apis.page().splitlines() if line.count(" | ") == 4]
    assert all(any(f"`{kind.name}`" in cell for cell in told) for kind in KINDS)


def test_values_that_are_taken_are_told() -> None:
    """As a client writes them."""
    assert 'Accepted, as it changes nothing: `["text"]`.' in apis.page()
