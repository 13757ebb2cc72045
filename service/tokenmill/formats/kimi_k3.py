"""Elements between markers for brackets; calls as typed arguments.

1. A response, and the whole message, are elements, too: their tags are framing.
2. Only attributes are escaped; the value of an argument is verbatim. Its type stands in its tag.
3. One JSON object may stand in place of the arguments, in an element of its own.
4. A separator may be missing behind the tag that closes the reasoning. A section inside the reasoning ends it.
"""

from tokenmill.parser.bodies import Params
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Call, Format, Header, Region, Section

KIMI_K3 = Format(
    name="kimi_k3",
    summary="`<|open|>call tool=…<|sep|>` with typed arguments, each in a pair of tags.",
    sample=(
        "<|open|>think<|sep|>I need the forecast.<|close|>think<|sep|>"
        "<|open|>response<|sep|>I'll look it up.<|close|>response<|sep|>"
        '<|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|>'
        '<|open|>argument key="city" type="string"<|sep|>Paris<|close|>argument<|sep|>'
        '<|open|>argument key="days" type="number"<|sep|>3<|close|>argument<|sep|>'
        "<|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|>"
    ),
    models=("Kimi-K3",),
    regions=(
        Region(
            marker("<|open|>think<|sep|>"), marker("<|close|>think<|sep|>", "<|close|>think", "<|open|>response<|sep|>")
        ),
    ),
    strays=(marker("<|close|>think<|sep|>", "<|close|>think"),),
    noise=(
        marker("<|open|>response<|sep|>", "<|open|>response"),
        marker("<|close|>response<|sep|>", "<|close|>response"),
        marker("<|open|>message<|sep|>"),
        marker("<|close|>message<|sep|>", "<|close|>message"),
    ),
    sections=(
        Section(
            open=marker("<|open|>tools<|sep|>"),
            close=marker("<|close|>tools<|sep|>"),
            calls=(
                Call(
                    open=marker("<|open|>call "),
                    header=Header(
                        until=marker("<|sep|>"),
                        pattern=r'.*?\btool="(?P<name>[^"]+)"[^"]*(?:"[^"]*"[^"]*)*',
                        unescape=True,
                    ),
                    body=Params(
                        open=marker("<|open|>argument ", "<|open|>json"),
                        close=marker("<|close|>argument<|sep|>", "<|close|>json<|sep|>"),
                        end=marker("<|close|>call<|sep|>"),
                        tag_end=marker("<|sep|>"),
                        key=r'(?:(?=.*?\bkey="(?P<key>[^"]*)"))?(?=.*?\btype="(?P<type>[^"]*)")?.*',
                        trim="none",
                        unescape=True,
                        wire_types={
                            "string": "string",
                            "null": "json",
                            "number": "json",
                            "integer": "json",
                            "boolean": "json",
                            "object": "json",
                            "array": "json",
                        },
                    ),
                ),
            ),
        ),
    ),
    calls_in_reasoning="honour",
)
