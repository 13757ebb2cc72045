"""The page of the dead letters."""

from tokenmill.errors import RECORD_ERRORS
from tokenmill.gen import dead_letters


def test_every_code_is_on_the_page() -> None:
    """Codes are what operators search for."""
    page = dead_letters.page()
    assert all(f"| `{error.code}` | " in page for error in RECORD_ERRORS)
