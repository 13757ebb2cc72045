"""What the AI SDK's middleware for tool calls asks models for, and the stream parts around it."""
