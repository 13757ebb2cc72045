"""The protocol of a WebSocket: frames of the client, frames of the server, and a connection from handshake to close."""
