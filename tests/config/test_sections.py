"""Settings are immutable structs whose printed form shows no secret."""

import msgspec
import pytest
from rich.console import Console

from tokenmill.config import Config, Kafka, ParserSection, Redis
from tokenmill.parser.options import Options


def test_secrets_are_masked() -> None:
    """Passwords and the Redis URL are `***` for repr and for rich; an empty one shows that it is empty."""
    config = Config(redis=Redis(url="redis://:hunter2@host"), kafka=Kafka(sasl_password="hunter2"))
    console = Console(width=500)
    with console.capture() as printed:
        console.print(config)
    for shown in (repr(config), printed.get()):
        assert "hunter2" not in shown
        assert "sasl_password='***'" in shown
        assert "ssl_password=''" in shown


def test_a_copy_is_changed_not_the_settings() -> None:
    """Settings are shared by the whole process and therefore frozen."""
    config = Config()
    with pytest.raises(AttributeError):
        config.kafka.group_id = "other"  # type: ignore[misc] # the point of the test
    changed = msgspec.structs.replace(config, kafka=msgspec.structs.replace(config.kafka, group_id="other"))
    assert changed.kafka.group_id == "other"


def test_the_parser_section_holds_every_option_and_the_codec() -> None:
    """`options` are the defaults of every message, without the codec."""
    section = msgspec.convert({"codec": "text", "format": "hermes", "on_broken": "drop"}, ParserSection)
    assert section.codec == "text"
    assert section.options == Options(format="hermes", on_broken="drop")
