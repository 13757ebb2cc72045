"""The calls that gamecode-mcp2's interceptor searches for in prose, and what it makes of them."""
