"""The sample configuration and the page hold every setting."""

import re
import tomllib
from pathlib import Path

import msgspec

from tokenmill.config import Config, load_config
from tokenmill.config.read import LISTS
from tokenmill.gen import settings


def test_the_sample_changes_nothing(tmp_path: Path) -> None:
    """As it is, everything in it is commented out."""
    path = tmp_path / "tokenmill.toml"
    path.write_text(settings.sample())
    assert load_config(path, {}) == Config()


def test_the_sample_shows_the_defaults(tmp_path: Path) -> None:
    """With the # removed from every setting that has a default, the file means the defaults."""
    path = tmp_path / "tokenmill.toml"
    head, _, _ = settings.sample().partition("# [[outputs]]")
    path.write_text(re.sub(r"^# (\w+ = .)", r"\1", head, flags=re.MULTILINE))
    assert load_config(path, {}) == Config()
    assert tomllib.loads(path.read_text())["kafka"]["group_id"] == "tokenmill"


def test_every_key_is_on_the_page_and_in_the_sample() -> None:
    """Whoever adds a setting documents it."""
    page, sample = settings.page(), settings.sample()
    tables = {field.name: field.type for field in msgspec.structs.fields(Config) if field.name not in LISTS}
    named = {f"[{name}]": kind for name, kind in tables.items()} | {f"[[{name}]]": kind for name, kind in LISTS.items()}
    for name, kind in named.items():
        assert f"## `{name}`" in page
        for key in kind.__struct_fields__:
            assert f"| `{key}` |" in page
            assert f"# {key} =" in sample
