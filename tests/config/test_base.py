"""What all sections share."""

from tokenmill.config.base import Section


class Small(Section, frozen=True, kw_only=True):
    """Two keys, one of them secret."""

    url: str = ""
    name: str = ""


def test_a_secret_is_in_no_repr() -> None:
    """An empty one is shown as empty, which helps to find what is missing."""
    assert repr(Small(url="redis://:hidden@host", name="n")) == "Small(url='***', name='n')"
    assert repr(Small()) == "Small(url='', name='')"
