"""What an open message costs."""

from tokenmill.bench.memory import measure_memory


def test_an_idle_message_is_small_and_a_call_holds_its_source() -> None:
    """An idle message stays below 2 KiB; what is inside a call is kept until the call is complete."""
    idle, calling = measure_memory()
    assert 200 < idle.bytes_per_message < 2_048
    assert calling.bytes_per_message > idle.bytes_per_message + 1_000
