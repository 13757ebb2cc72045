"""The demo's server of tools."""

from mcp import Client

from tokenmill.demo.letters import SERVER


async def test_it_counts_letters() -> None:
    """Small or large, as it says that it only reads."""
    async with Client(SERVER) as client:
        (tool,) = (await client.list_tools()).tools
        assert (tool.name, tool.annotations and tool.annotations.read_only_hint) == ("count", True)
        found = await client.call_tool("count", {"word": "Strawberry", "letter": "R"})
        assert found.structured_content == {"result": 3}
