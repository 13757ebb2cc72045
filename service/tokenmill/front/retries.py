"""Finds the earlier request that a retry repeats.

An SDK may retry as late as an answer may take, since an answer in one piece sends nothing before its end. A retry
repeats an earlier request whose answer is not over, or has been over for less than `front.retry_s`.
"""

import time

from tokenmill.front.request_index import KnownRequest
from tokenmill.front.requests import ApiRequest
from tokenmill.front.route_context import RouteContext, since


async def earlier_request(context: RouteContext, asked: ApiRequest) -> KnownRequest | None:
    """Return the earlier request that this one repeats, or None. Raises `Refused` and `Unavailable`."""
    known = await context.requests.known(asked)
    if known is None or asked.identity.key or context.requests.abandoned(known):
        return known
    late_ms = int((time.time() - context.config.front.retry_s) * 1000)
    if known.time_ms >= late_ms:
        return known
    place = known.conversation, known.message_id, since(known.time_ms), asked.grant
    async with context.following(*place) as following:
        return None if await following.was_over(late_ms) else known
