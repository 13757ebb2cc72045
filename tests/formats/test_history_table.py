"""The table of histories; what its templates write is read back in `test_history`."""

from string import Template

from tokenmill.formats.history_table import HISTORY

PLACES = {"call": {"name", "quoted", "id", "arguments"}, "result": {"name", "quoted", "id", "result", "json"}}


def test_templates_have_known_places_only() -> None:
    """And a call has its name and its arguments, a result the result."""
    for name, history in HISTORY.items():
        call, result = Template(history.call).get_identifiers(), Template(history.result).get_identifiers()
        assert set(call) <= PLACES["call"], name
        assert set(result) <= PLACES["result"], name
        assert "arguments" in call, name
        assert {"name", "quoted"} & set(call), name
        assert {"result", "json"} & set(result), name
