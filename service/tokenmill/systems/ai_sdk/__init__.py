"""Formats in which the AI SDK's middleware for tool calls asks models for calls, and the stream parts around them."""
