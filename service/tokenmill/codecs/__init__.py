"""Input codecs: one file and one line in this list each. `sse+NAME` reads raw bytes of SSE around any of them."""

from tokenmill.codecs.anthropic import ANTHROPIC
from tokenmill.codecs.bedrock import BEDROCK
from tokenmill.codecs.chunk import Chunk, ProviderPart
from tokenmill.codecs.codec import Codec
from tokenmill.codecs.gemini import GEMINI
from tokenmill.codecs.llama_cpp import LLAMA_CPP
from tokenmill.codecs.native import NATIVE
from tokenmill.codecs.ollama import OLLAMA
from tokenmill.codecs.openai import OPENAI
from tokenmill.codecs.openai_responses import OPENAI_RESPONSES
from tokenmill.codecs.sse_stream import PREFIX, SseCodec
from tokenmill.codecs.text import TEXT
from tokenmill.errors import UnknownCodec
from tokenmill.registry import Registry, known_names

__all__ = ["CODECS", "Chunk", "Codec", "ProviderPart", "cut_anywhere", "find_codec"]

CODECS: Registry[Codec] = Registry(
    (
        NATIVE,
        TEXT,
        ANTHROPIC,
        BEDROCK,
        GEMINI,
        LLAMA_CPP,
        OLLAMA,
        OPENAI,
        OPENAI_RESPONSES,
    )
)
"""Every codec by name, including those of other packages; the first is the default."""


_AROUND: dict[str, Codec] = {}
"""SSE codecs made so far, by the name of the codec inside."""


def find_codec(name: str) -> Codec:
    """The codec with that name. Raises `UnknownCodec`."""
    codec = _around(name) if name.startswith(PREFIX) else CODECS.find(name)
    if codec is None:
        raise UnknownCodec(f"unknown codec {name!r}; {_instead_of(name)}")
    return codec


def cut_anywhere(codec: Codec) -> bool:
    """Whether a record may be any bytes of a stream instead of a whole event."""
    return bool(getattr(codec, "cut_anywhere", False))


def _instead_of(name: str) -> str:
    names = [codec.name for codec in CODECS]
    return known_names(name, [*names, f"{PREFIX}NAME of these"], [PREFIX + inner for inner in names])


def _around(name: str) -> Codec | None:
    inner = CODECS.find(name.removeprefix(PREFIX))
    if inner is None:
        return None
    return _AROUND.setdefault(inner.name, SseCodec(inner))
