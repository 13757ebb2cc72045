"""Parts of messages."""

import pytest

from tokenmill.apis.ask import BadAsk
from tokenmill.apis.content import image_address, image_part, plain, read_part, text_part
from tokenmill.apis.reading import Node


def test_one_text_alone_is_a_string() -> None:
    """Every template reads it."""
    assert plain([text_part("a")]) == "a"
    assert plain([text_part("a"), text_part("b")]) == [text_part("a"), text_part("b")]
    assert plain([image_part("https://a")]) == [{"type": "image_url", "image_url": {"url": "https://a"}}]


@pytest.mark.parametrize("url", ["https://a/b.png", "HTTP://a", "data:image/png;base64,QQ=="])
def test_images_are_addresses_or_data(url: str) -> None:
    """They are passed on as they are."""
    assert image_address(Node(url, "u")) == url


@pytest.mark.parametrize("url", ["file:///etc/passwd", "cat.png", "data:text/html,x", ""])
def test_other_addresses_are_refused(url: str) -> None:
    """A file of the model's server, above all."""
    with pytest.raises(BadAsk) as refused:
        image_address(Node(url, "u"))
    assert refused.value.param == "u"


def test_a_part_of_another_type_is_named() -> None:
    """And what there is."""
    part = Node({"type": "input_audio"}, "messages[2].content[0]")
    with pytest.raises(BadAsk) as caught:
        read_part(part, {"text": Node.json, "image_url": Node.json})
    refused = caught.value
    assert (refused.param, refused.code) == ("messages[2].content[0].type", "unsupported_value")
    assert "'input_audio'" in str(refused)
    assert "text, image_url" in str(refused)
