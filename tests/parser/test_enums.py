"""Enumerations of the short paths."""

from enum import Enum, IntEnum

from tokenmill.parser.enums import plain_members


class Fruit(Enum):
    """What grows."""

    APPLE = "red"
    PLUM = "blue"


class Size(IntEnum):
    """How large."""

    SMALL = 0
    LARGE = 1


def test_the_members_are_those_of_the_enumeration() -> None:
    """All of them, under their names, the very same objects."""
    fruit = plain_members(Fruit)
    assert (fruit.APPLE, fruit.PLUM) == (Fruit.APPLE, Fruit.PLUM)
    assert fruit.PLUM is Fruit.PLUM
    assert plain_members(Size).LARGE is Size.LARGE
    assert fruit.__doc__ == Fruit.__doc__


def test_naming_one_asks_no_metaclass() -> None:
    """That is what makes it cheap."""
    assert type(plain_members(Fruit)) is type
