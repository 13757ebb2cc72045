"""Settings of the inspector."""

from typing import Annotated

from msgspec import Meta

from tokenmill.config.base import Section


class Inspect(Section, frozen=True, kw_only=True):
    """The page that shows what the parser makes of a text: `tokenmill inspect`, or part of a gateway."""

    bind: str = "127.0.0.1"
    """Address of the page. Any but the loopback's is refused without `gateway.auth`, and always by `tokenmill inspect`,
    which authenticates nobody."""
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8096
    """Port of the page; 0 takes a free one."""
