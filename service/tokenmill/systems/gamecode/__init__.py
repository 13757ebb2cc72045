"""The calls that gamecode-mcp2's interceptor looks for in prose, and what it makes of them."""
