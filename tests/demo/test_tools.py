"""The tools of the samples."""

import jsonschema_rs

from tokenmill.demo.tools import TOOLS
from tokenmill.parser import read_options


def test_the_tools_are_a_list_as_openai_takes_it() -> None:
    """They are options of a message, and their parameters are JSON schemas."""
    assert read_options({"tools": TOOLS}).tools == TOOLS
    for tool in TOOLS:
        assert jsonschema_rs.validator_for(tool["function"]["parameters"]).is_valid(
            {"city": "x", "path": "y", "content": "z"}
        )
