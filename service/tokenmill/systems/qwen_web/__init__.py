"""The calls that a proxy in front of Qwen's web chat asks for, and the chat's own stream."""
