"""A configuration as it is shown."""

from pathlib import Path

import pytest

from tokenmill.config import load_config
from tokenmill.config.shown import shown


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("redis://h:6379/0", "redis://h:6379/0"),
        ("redis://u:s3cret@h:6379/0", "redis://u:***@h:6379/0"),
        ("redis://:s3cret@h:6379/0", "redis://:***@h:6379/0"),
        ("redis://s3cret@h:6379/0", "redis://***@h:6379/0"),
        ("redis://s3cret:@h:6379/0", "redis://***@h:6379/0"),
        ("redis://u:s3@cret@h:6379/0", "redis://u:***@h:6379/0"),
        ("redis://h:6379/0?password=s3cret", "***"),
    ],
)
def test_of_a_url_only_the_password_is_masked(url: str, masked: str) -> None:
    """Wherever it stands; a user without one is a token."""
    assert shown(load_config(None, {"TOKENMILL_REDIS__URL": url}))["redis"]["url"] == masked


def test_a_secret_from_a_file_is_that_file(tmp_path: Path) -> None:
    """Both together could not be read back."""
    secret = tmp_path / "secret"
    secret.write_text("s3cret-of-thirty-two-characters-or-more")
    found = shown(load_config(None, {"TOKENMILL_GATEWAY__TICKET_SECRET_FILE": str(secret)}))["gateway"]
    assert found["ticket_secret_file"] == str(secret)
    assert "ticket_secret" not in found


def test_what_is_not_set_is_not_there() -> None:
    """TOML has no word for it; lists of tables that are empty are none either."""
    found = shown(load_config(None, {}))
    assert "outputs" not in found
    assert all(value is not None for section in found.values() for value in section.values())
