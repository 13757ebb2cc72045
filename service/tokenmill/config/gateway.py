"""The settings of the gateway."""

from typing import Annotated, Literal

from msgspec import Meta

from tokenmill.config.base import Positive, PositiveInt, Section


class Gateway(Section, frozen=True, kw_only=True):
    """Events over HTTP: `tokenmill gateway`. Each cap bounds what one client, or all of them, can cost."""

    bind: str = "127.0.0.1"
    """Address that clients come to. Any but the loopback's is refused without `auth`."""
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8090
    """Port that clients come to; 0 takes a free one."""
    ops_bind: str = "0.0.0.0"  # noqa: S104 # metrics and health are asked for from outside the pod
    """Address of `/metrics`, `/healthz` and `/readyz`."""
    ops_port: Annotated[int, Meta(ge=0, le=65_535)] = 8091
    """Port of those; 0 takes a free one."""
    tls_certfile: str = ""
    """Certificate chain (PEM), for installations without a proxy in front that ends TLS. Read at start."""
    tls_keyfile: str = ""
    """Of the certificate."""
    auth: Literal["none", "keys", "jwt", "function"] = "none"
    """Who may read, stop and write: everybody, holders of a key in `keys_file`, of a token that is signed, or whom a
    function of your own lets in. Patterns of conversations cover those that the front made for others (`~…`) only if
    they begin with `~` themselves."""
    keys_file: str = ""
    """With `keys`: a TOML file with a table `[[keys]]` for each: `name`, `sha256` of the key in hex, `conversations`
    (patterns with `*`), `actions` (`read`, `stop`, `write`, `approve`). Read
    again when it changes."""
    jwt_keys: str = ""
    """With `jwt`: a JSON Web Key Set, as a file or an `https://` URL. Read again when a key is not known."""
    jwt_secret: str = ""
    """With `jwt`: the shared secret of HS256, instead of `jwt_keys`."""
    jwt_secret_file: str = ""
    """A file that holds it."""
    jwt_audience: str = ""
    """With `jwt`: what `aud` has to hold. Needed: a token for another service must not open this one."""
    jwt_issuer: str = ""
    """With `jwt`: what `iss` has to be; empty: anything."""
    jwt_conversations: str = "conversations"
    """With `jwt`: the claim that lists the conversations (patterns with `*`) its holder may use."""
    jwt_actions: str = "actions"
    """With `jwt`: the claim that lists the actions; a token without it may only read."""
    function: str = ""
    """With `function`: `module:function`, an `async` function that takes a `gateway.Credentials` and answers a
    `gateway.Grant`, or None to refuse. It runs with all that the process may do."""
    ticket_s: PositiveInt = 60
    """How long a ticket is good for: browsers' `EventSource` can't send headers, so it gets one in its URL."""
    ticket_secret: str = ""
    """Signs tickets. Gateways behind one address need the same; empty: a random one for the process."""
    ticket_secret_file: str = ""
    """A file that holds it."""
    origins: list[str] = []
    """Origins (`https://app.example.com`) whose pages may read answers and open WebSockets; `*` for any, without
    credentials. Empty: only pages of the gateway's own origin."""
    dialects: list[str] = []
    """Dialects that clients are to get with all that they can show: workers then make the events that those need, such
    as `argument-delta`, which only streaming dialects read. Every dialect is served; without it arguments of calls may
    come whole."""
    writes: bool = True
    """Whether clients can write and stop at all. Without it the gateway needs no right to write in Kafka."""
    inspect: bool = False
    """Serve the inspector, too, at `inspect.bind` and `inspect.port`: whoever may read a conversation sees the tokens
    of its answers there, and who may `approve` says which calls of its tools are run."""
    flush_ms: Annotated[int, Meta(ge=0)] = 25
    """For how long frames are collected before they are written: the system call costs more than the frame. The first
    frame of a message and its last are written at once; 0 writes every frame so."""
    heartbeat_s: Positive = 15
    """After so much silence a connection gets a comment, which keeps proxies from closing it and finds dead peers."""
    window_mib: PositiveInt = 256
    """Records of recent times that are kept in memory, of all partitions together: what resumes are served from."""
    window_s: Positive = 300
    """Records older than this leave the window, even if there is room."""
    lookback_s: Positive = 600
    """How far back from the end of the log `from=start` looks for a conversation's first message."""
    lookback_records: PositiveInt = 1_000_000
    """The same in records of the partition: reading one takes 9 µs, so this is ten seconds of a core."""
    catch_up_readers: Annotated[int, Meta(ge=1, le=64)] = 8
    """Consumers that read what lies before the window. More clients than these wait for their turn."""
    buffer_kib: PositiveInt = 256
    """What one client may be behind with, in the socket's buffer or unsent; then it is slow."""
    stall_s: Positive = 10
    """For how long a client may be slow, or a catch-up write wait for it, before it is closed; it comes back by id."""
    connections: PositiveInt = 20_000
    """Open connections of the process; about 16 KiB each."""
    connections_per_principal: PositiveInt = 16
    """Of one name that `auth` tells: a browser opens six, a leaked key should not open all. Without `auth` unused.
    Who reads with tickets of a key is counted by conversation, as a site has one key for all its users; all of them
    together may have half of `connections`."""
    body_kib: PositiveInt = 1_024
    """The longest record that a client may write, and the longest body of a request that is read whole."""
    drain_s: Positive = 10
    """From SIGTERM to exit: streams are told to come back, then reset; below the 30 s that Kubernetes gives."""
