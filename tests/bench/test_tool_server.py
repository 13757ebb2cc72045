"""The server that the benchmark of tools calls."""

from mcp import Client

from tokenmill.bench.tool_server import SERVER


async def test_it_answers_and_says_what_that_took() -> None:
    """With the number that it was given; time only grows."""
    async with Client(SERVER) as client:
        spent = [(await client.call_tool("spent", {})).structured_content]
        answer = await client.call_tool("nothing", {"number": 7})
        spent.append((await client.call_tool("spent", {})).structured_content)
    assert answer.structured_content == {"result": 7}
    before, after = (float(each["result"]) for each in spent if each)
    assert 0 < before <= after
