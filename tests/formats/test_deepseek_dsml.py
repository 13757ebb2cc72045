"""What deepseek_dsml has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, named, parse
from tokenmill.events import ArgumentDelta
from tokenmill.formats import find_format
from tokenmill.formats.deepseek_dsml import DEEPSEEK_DSML


def test_names_of_other_servers() -> None:
    """The names under which other servers know its versions."""
    assert all(find_format(name) is DEEPSEEK_DSML for name in ("deepseek_v32", "deepseekv4", "deepseek_v41"))


def test_text_is_streamed_where_the_tag_says_that_it_is_text() -> None:
    """Without a schema, only `string="true"` is certain."""
    tags = "".join(
        f'<｜DSML｜parameter name="{flag}" string="{flag}">x</｜DSML｜parameter>' for flag in ("true", "false")
    )
    text = f'<｜DSML｜tool_calls><｜DSML｜invoke name="f">{tags}'
    events = parse(grammar("deepseek_dsml", content_arguments=["*"]), list(text))
    assert [event.argument for event in named(events, ArgumentDelta)] == ["true"]
