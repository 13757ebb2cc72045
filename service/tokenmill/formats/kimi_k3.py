"""Elements between markers for brackets; calls as typed arguments.

1. A response, and the whole message, are elements, too: their tags are framing.
2. Only attributes are escaped; the value of an argument is verbatim. Its type stands in its tag.
3. One JSON object may replace the arguments, in an element of its own.
4. A separator may be missing after the tag that closes the reasoning. A section inside the reasoning ends it.
5. Servers may put a blank between two of the model's own tokens. A call may stand without its section.
6. An answer that is cut off between the tokens of a tag ends in the first of them, which means nothing then.
"""

from functools import partial

from tokenmill.formats.notations import tags_history
from tokenmill.parser.bodies import Params
from tokenmill.parser.markers import OVER, before, marker
from tokenmill.parser.spec import Call, Format, Header, Region, Section

_mark = partial(marker, spaces=True)

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
    history=tags_history(
        '<|open|>tools<|sep|><|open|>call tool="$name"<|sep|>$arguments<|close|>call<|sep|><|close|>tools<|sep|>',
        '<|open|>argument key="$key" type="$type"<|sep|>$value<|close|>argument<|sep|>',
    ),
    regions=(
        Region(
            _mark("<|open|>think<|sep|>"),
            _mark("<|close|>think<|sep|>", "<|close|>think", "<|open|>response<|sep|>"),
            again="reasoning",
        ),
    ),
    strays=(_mark("<|close|>think<|sep|>", "<|close|>think"),),
    noise=(
        _mark("<|open|>response<|sep|>", "<|open|>response"),
        _mark("<|close|>response<|sep|>", "<|close|>response"),
        _mark("<|open|>message<|sep|>"),
        _mark("<|close|>message<|sep|>", "<|close|>message"),
        before(marker("<|open|>", "<|close|>"), [OVER]),
    ),
    sections=(
        Section(
            open=_mark("<|open|>tools<|sep|>"),
            close=_mark("<|close|>tools<|sep|>"),
            calls=(
                Call(
                    open=_mark("<|open|>call "),
                    header=Header(
                        until=_mark("<|sep|>"),
                        pattern=r'.*?\btool="(?P<name>[^"]+)"[^"]*(?:"[^"]*"[^"]*)*',
                        unescape=True,
                    ),
                    body=Params(
                        open=_mark("<|open|>argument ", "<|open|>json"),
                        close=_mark("<|close|>argument<|sep|>", "<|close|>json<|sep|>"),
                        end=_mark("<|close|>call<|sep|>"),
                        tag_end=_mark("<|sep|>"),
                        key=r'(?:(?=.*?\bkey="(?P<key>[^"]*)"))?(?=.*?\btype="(?P<type>[^"]*)")?.*',
                        trim="none",
                        unescape=True,
                        calls=marker("<|open|>call "),
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
            bare="always",
            in_reasoning="calls",
        ),
    ),
    calls_in_reasoning="honour",
)
