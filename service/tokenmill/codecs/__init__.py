"""Input codecs: one file each, one line each in this list."""

from tokenmill.codecs.chunk import Chunk, ProviderPart
from tokenmill.codecs.codec import Codec
from tokenmill.codecs.native import NATIVE
from tokenmill.codecs.qwen_sse import QWEN_SSE
from tokenmill.codecs.text import TEXT
from tokenmill.errors import UnknownCodec
from tokenmill.registry import Registry

__all__ = ["CODECS", "REGISTRY", "Chunk", "Codec", "ProviderPart", "find_codec"]

CODECS: tuple[Codec, ...] = (NATIVE, QWEN_SSE, TEXT)
"""Every codec; the first is the default."""

REGISTRY = Registry(CODECS)
"""These by name, and those of other packages."""


def find_codec(name: str) -> Codec:
    """The codec of that name. Raises `UnknownCodec`."""
    codec = REGISTRY.find(name)
    if codec is None:
        raise UnknownCodec(f"unknown codec {name!r}; known are {REGISTRY.names}")
    return codec
