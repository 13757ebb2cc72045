"""Hooks: an observer of one need not handle the others."""

from tokenmill.observe import Hooks


def test_a_subclass_overrides_what_it_needs() -> None:
    """All other hooks take what a worker gives them and do nothing."""
    heard: list[int] = []

    class Mine(Hooks):
        def assigned(self, partitions: int) -> None:
            heard.append(partitions)

    hooks = Mine()
    hooks.assigned(3)
    hooks.replayed("tokens", 0, 5)
    hooks.restored("tokens", 0, "redis", 7)
    hooks.committing({("tokens", 0): 9})
    hooks.committed({("tokens", 0): 9})
    hooks.snapshot_written("tokens", 0, 9)
    hooks.revoked(3)
    assert heard == [3]
