"""A name and pairs of tags for keys and values in a `<tool_call>` pair; the tool's schema gives the values their types.

GLM-4.5 writes each on a line of its own, later models without new lines; some write a backslash and an n instead.
The name ends there, at the first key or at the end of the call. The opening may be written twice.
"""

from tokenmill.formats.notations import tags_history
from tokenmill.formats.pairs import NAME, pairs
from tokenmill.formats.shapes import THINK
from tokenmill.parser.markers import marker
from tokenmill.parser.spec import Call, Format, Header, Section

_OPENINGS = ("<tool_call>", "<iquest_tool_call>", "<tool_call><tool_call>", "<tool_call>\n<tool_call>")
_ENDS = ("</tool_call>", "</iquest_tool_call>")

GLM_KV = Format(
    name="glm_kv",
    summary="NAME and `<arg_key>KEY</arg_key><arg_value>VALUE</arg_value>` pairs inside a `<tool_call>` pair.",
    sample=(
        "<think>I need the forecast.</think>I'll look it up.\n"
        "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n"
        "<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>"
    ),
    models=(
        "GLM-4.5",
        "GLM-4.6",
        "GLM-4.7",
        "GLM-5*",
        "Ling-3*",
        "Spark-2.5",
        "Laguna",
        "IQuest",
        "HyperCLOVAX-SEED-Think-32B",
    ),
    aliases=("glm", "glm45", "glm47", "ling3", "spark25", "poolside_v1", "iquest_q1", "hyperclovax_seed_think"),
    history=tags_history(
        "<tool_call>$name\n$arguments</tool_call>",
        "<arg_key>$key</arg_key>\n<arg_value>$value</arg_value>\n",
        "<|observation|>\n<tool_response>\n$result\n</tool_response>",
    ),
    regions=(THINK,),
    noise=(marker("<|role_end|>"),),
    sections=(
        Section(
            open=None,
            close=None,
            calls=(
                Call(
                    open=marker(*_OPENINGS, *(f"{opening}\n" for opening in _OPENINGS)),
                    header=Header(until=marker("\n", "\\n"), before=marker("<arg_key>", *_ENDS), pattern=NAME),
                    body=pairs(*_ENDS),
                ),
            ),
            bare="always",
        ),
    ),
    calls_in_reasoning="honour",
)
