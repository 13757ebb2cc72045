"""Which calls are run, refused, or asked about."""

from typing import Any

import pytest

from tokenmill.tools.policy import Action, read_policy, verdict

POLICY = read_policy(
    [
        "deny files__delete*",
        "allow files__write(path=/srv/*, mode=w)",
        "ask files__write",
        "ask shop__buy(items=*9*)",
        "deny mail__*",
    ]
)


@pytest.mark.parametrize(
    ("name", "arguments", "action"),
    [
        ("files__read", {}, "allow"),
        ("files__delete_all", {"path": "/srv/x"}, "deny"),
        ("files__write", {"path": "/srv/x", "mode": "w"}, "allow"),
        ("files__write", {"path": "/srv/x", "mode": "a"}, "ask"),
        ("files__write", {"path": "/srv/x"}, "ask"),
        ("files__write", {"path": ["/srv/x"], "mode": "w"}, "ask"),
        ("shop__buy", {"items": [{"price": 19}]}, "ask"),
        ("shop__buy", {"items": [{"price": 12}]}, "allow"),
        ("mail__send", {}, "deny"),
        ("Mail__send", {}, "allow"),
    ],
)
def test_the_first_row_that_fits_decides(name: str, arguments: dict[str, Any], action: Action) -> None:
    """By the tool's name and its arguments; what none fits is allowed."""
    assert verdict(POLICY, name, arguments) == action
