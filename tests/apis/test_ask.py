"""What a request asks for."""

import msgspec

from tests.apis.bodies import GOOD, ask
from tokenmill.apis.ask import Ask, BadAsk


def test_it_can_be_written_and_read() -> None:
    """It goes through a topic."""
    for api in GOOD:
        asked = ask(api)
        assert msgspec.json.decode(msgspec.json.encode(asked), type=Ask) == asked


def test_a_refusal_says_where() -> None:
    """And why, as its text."""
    refused = BadAsk("`n` is missing.", "n", "missing_required_parameter")
    assert (str(refused), refused.param, refused.code) == ("`n` is missing.", "n", "missing_required_parameter")
