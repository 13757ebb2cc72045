"""The protocol of a WebSocket: what clients say, what they are sent, and one connection from handshake to close."""
