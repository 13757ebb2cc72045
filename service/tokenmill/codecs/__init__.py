"""Input codecs: one file each, one line each in this list."""

from tokenmill.codecs.chunk import Chunk, ProviderPart
from tokenmill.codecs.codec import Codec
from tokenmill.codecs.native import NATIVE
from tokenmill.codecs.qwen_sse import QWEN_SSE
from tokenmill.codecs.text import TEXT
from tokenmill.errors import UnknownCodec

__all__ = ["CODECS", "Chunk", "Codec", "ProviderPart", "find_codec"]

CODECS: tuple[Codec, ...] = (NATIVE, QWEN_SSE, TEXT)
"""Every codec; the first is the default."""

_BY_NAME = {codec.name: codec for codec in CODECS}


def find_codec(name: str) -> Codec:
    """The codec of that name. Raises `UnknownCodec`."""
    codec = _BY_NAME.get(name)
    if codec is None:
        raise UnknownCodec(f"unknown codec {name!r}; known are {', '.join(_BY_NAME)}")
    return codec
