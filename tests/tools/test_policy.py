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


def test_a_number_is_what_it_counts() -> None:
    """A model may write it with a point; large ones, and what is no number, are as JSON has them."""
    policy = read_policy(["deny w__wait(seconds=2)", "deny w__wait(on=true)", "ask w__wait(seconds=1e*)"])
    assert [
        verdict(policy, "w__wait", {"seconds": value}) for value in (2, 2.0, "2", 2.5, 1e300, float("inf"), True)
    ] == ["deny", "deny", "deny", "allow", "allow", "allow", "allow"]
    assert verdict(policy, "w__wait", {"on": True}) == "deny"


def test_patterns_are_read_in_linear_time() -> None:
    """What they are compared with comes from a model."""
    policy = read_policy([f"deny w__note(words={'*a' * 30}b)"])
    assert verdict(policy, "w__note", {"words": "a" * 1_000_000}) == "allow"
