"""Settings of the inspector."""

from typing import Annotated

from msgspec import Meta

from tokenmill.config.base import Section


class Inspect(Section, frozen=True, kw_only=True):
    """The page that shows what the parser makes of a text: `tokenmill inspect`, or beside a gateway."""

    bind: str = "127.0.0.1"
    """Address of the page. Any but the loopback's is refused without `gateway.auth`, and by `tokenmill inspect`, which
    asks nobody who they are."""
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8096
    """Port of the page; 0 takes a free one."""
