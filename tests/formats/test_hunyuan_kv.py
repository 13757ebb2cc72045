"""What hunyuan_kv has of its own; its cases are run by the conformance suite."""

from tests.support.parsing import grammar, merged, parse
from tokenmill.formats.hunyuan_kv import HUNYUAN_KV


def test_names_of_other_servers() -> None:
    """The names under which other servers know it."""
    assert {"hunyuan", "hy_v3"} <= set(HUNYUAN_KV.aliases)


def test_every_marker_takes_a_suffix() -> None:
    """The sample with a suffix in every tag is read as without."""
    text = HUNYUAN_KV.sample.replace(">", ":7f>")
    plain, suffixed = (
        merged(parse(grammar("hunyuan_kv", markers_suffix=suffix, stream_tool_input=False), [source]))
        for suffix, source in (("", HUNYUAN_KV.sample), ("7f", text))
    )
    assert suffixed == plain
