"""The consumer group as its broker describes it, and as an operator may change it."""

from collections.abc import Iterable

from aiokafka.protocol.group import LeaveGroupRequest

from tests.support.topics import admin_of


async def state_of(bootstrap: str, group: str) -> str:
    """`Stable`, `Empty` and so on."""
    async with admin_of(bootstrap) as client:
        (answer,) = await client.describe_consumer_groups([group])
        return str(answer.groups[0][2])


async def members_of(bootstrap: str, group: str) -> list[str]:
    """The ids of all members."""
    async with admin_of(bootstrap) as client:
        (answer,) = await client.describe_consumer_groups([group])
        return [member_id for member_id, *_ in answer.groups[0][5]]


async def remove_members(bootstrap: str, group: str, members: Iterable[str]) -> None:
    """Take these out of the group: nobody waits for the sessions of static members that have ended then."""
    async with admin_of(bootstrap) as client:
        coordinator = await client.find_coordinator(group)
        for member in members:
            await client._send_request(LeaveGroupRequest(group, member), coordinator)
