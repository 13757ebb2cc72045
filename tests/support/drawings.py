"""An SVG as tests look at it."""

from xml.etree import ElementTree as ET

SVG = "{http://www.w3.org/2000/svg}"


def drawn(picture: str) -> ET.Element:
    """The picture as a tree; fails if it is no XML."""
    return ET.fromstring(picture)  # noqa: S314 -- drawn by the test


def of_kind(root: ET.Element, kind: str) -> list[ET.Element]:
    """Elements of a class, in order."""
    return [element for element in root.iter() if kind in element.get("class", "").split()]


def texts(root: ET.Element) -> list[str]:
    """What there is to read, in order."""
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def points(line: ET.Element) -> list[tuple[float, float]]:
    """Where a line leads through."""
    pairs = (pair.split(",") for pair in line.attrib["points"].split())
    return [(float(x), float(y)) for x, y in pairs]
