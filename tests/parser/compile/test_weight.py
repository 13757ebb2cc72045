"""How much memory options take, about. `tests/properties/test_memory.py` compares with what they do."""

from tokenmill.parser.compile.weight import BYTE, CONTAINER_BYTES, SCALAR_BYTES, weight


def test_each_part_counts() -> None:
    """Keys, values and what holds them, at any depth."""
    assert weight(1, 10) == 10 * BYTE + SCALAR_BYTES
    assert weight({"a": [1, "b"], "c": {}}, 0) == 4 * SCALAR_BYTES + 3 * CONTAINER_BYTES


def test_depth_has_no_end() -> None:
    """Options of a library may be as deep as a program makes them."""
    value: object = 1
    for _ in range(10_000):
        value = [value]
    assert weight(value, 0) == 10_000 * CONTAINER_BYTES + SCALAR_BYTES
