"""The settings of the gateway."""

from typing import Annotated, Literal

from msgspec import Meta

from tokenmill.config.base import Positive, PositiveInt, Section


class Gateway(Section, frozen=True, kw_only=True):
    """Events over HTTP: `tokenmill gateway`. Each cap bounds what one client, or all of them, can cost."""

    bind: str = "127.0.0.1"
    """Address that clients connect to. Any but the loopback's is refused without `auth`."""
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8090
    """Port that clients connect to; 0 takes a free one."""
    ops_bind: str = "0.0.0.0"  # noqa: S104 # metrics and health are asked for from outside the pod
    """Address of `/metrics`, `/healthz` and `/readyz`."""
    ops_port: Annotated[int, Meta(ge=0, le=65_535)] = 8091
    """Port of `/metrics`, `/healthz` and `/readyz`; 0 takes a free one."""
    tls_certfile: str = ""
    """Certificate chain (PEM), for installations without a proxy that terminates TLS. Read again when it or its key
    changes, for new connections."""
    tls_keyfile: str = ""
    """Private key (PEM) of the certificate."""
    auth: Literal["none", "keys", "jwt", "function"] = "none"
    """Who may read, stop and write: everybody, holders of a key in `keys_file`, holders of a signed token, or clients
    that your own function admits. Patterns of conversations cover those that the front made (`~…`) only if they
    begin with `~` themselves."""
    keys_file: str = ""
    """With `keys`: a TOML file with a table `[[keys]]` for each: `name`, `sha256` of the key in hex, `conversations`
    (patterns with `*`), `actions` (`read`, `stop`, `write`, `approve`). Read again when it changes."""
    jwt_keys: str = ""
    """With `jwt`: a JSON Web Key Set, as a file or an `https://` URL. A file is read again when it changes; a URL, when
    a token names an unknown key, and with the first token after five minutes. If that fails, its keys count for an
    hour."""
    jwt_secret: str = ""
    """With `jwt`: the shared secret of HS256, instead of `jwt_keys`."""
    jwt_secret_file: str = ""
    """A file that holds the secret, instead of `jwt_secret`."""
    jwt_audience: str = ""
    """With `jwt`: value that `aud` must contain. Required, so that a token for another service is refused."""
    jwt_issuer: str = ""
    """With `jwt`: value that `iss` must have; empty: any."""
    jwt_conversations: str = "conversations"
    """With `jwt`: the claim that lists the conversations (patterns with `*`) its holder may use."""
    jwt_actions: str = "actions"
    """With `jwt`: the claim that lists the actions; a token without it may only read."""
    function: str = ""
    """With `function`: `module:function`, an `async` function that takes a `gateway.Credentials` and returns a
    `gateway.Grant`, or None to refuse. It runs with all rights of the process."""
    ticket_s: PositiveInt = 60
    """How long a ticket is valid: browsers' `EventSource` can't send headers, so it gets a ticket in its URL."""
    ticket_secret: str = ""
    """Secret that signs tickets. Gateways behind one address need the same; empty: a random one per process."""
    ticket_secret_file: str = ""
    """A file that holds the secret, instead of `ticket_secret`."""
    origins: list[str] = []
    """Origins (`https://app.example.com`) whose pages may read answers and open WebSockets; `*` for any, without
    credentials. Empty: only pages of the gateway's own origin."""
    dialects: list[str] = []
    """Dialects that clients get in full: workers then make the events that these need, such as `argument-delta`, which
    only streaming dialects read. Every other dialect is served, too, but arguments of calls may come whole."""
    writes: bool = True
    """Whether clients can write and stop at all. If false, the gateway needs no right to write to Kafka."""
    inspect: bool = False
    """Whether to serve the inspector, too, at `inspect.bind` and `inspect.port`: clients that may read a conversation
    see the tokens of its answers there, and clients that may `approve` decide which of its calls are run, unless
    `writes` is false. Only its own page may ask, whatever `origins` lists."""
    flush_ms: Annotated[int, Meta(ge=0)] = 25
    """How long frames are collected before they are written: the system call costs more than the frame. The first and
    the last frame of a message are written immediately; with 0 all frames are."""
    heartbeat_s: Positive = 15
    """Silence after which a stream over HTTP gets a comment or an empty line, which keeps proxies from closing it and
    finds dead peers. WebSockets are pinged instead."""
    window_mib: PositiveInt = 256
    """Memory for recent records of all partitions together, from which resumes are served."""
    window_s: Positive = 300
    """Age at which records leave the window, even if there is room."""
    lookback_s: Positive = 600
    """How far back from the end of the log `from=start` looks for a conversation's first message."""
    lookback_records: PositiveInt = 1_000_000
    """The same in records of the partition: reading one takes 9 µs, so the default is ten seconds of a core. From an
    older id more are read, at a fifth of the speed while nothing is found."""
    catch_up_readers: Annotated[int, Meta(ge=1, le=64)] = 8
    """Consumers that read records from before the window. Clients beyond this number wait for their turn."""
    buffer_kib: PositiveInt = 256
    """Amount that one client may lag behind, in the socket's buffer or unsent, before it counts as slow."""
    stall_s: Positive = 10
    """How long a client may be slow, or a catch-up write may wait for it, before it is closed; it resumes by id."""
    connections: PositiveInt = 20_000
    """Open connections of the process; about 16 KiB each."""
    connections_per_principal: PositiveInt = 16
    """Connections per name that `auth` gives: a browser opens six, and a leaked key should not open all. Unused without
    `auth`. Readers with tickets of a key are counted by conversation, because a site has one key for all its users;
    all of them together may have half of `connections`. Posted chunks and results are not counted by name, because a
    service writes all of its answers under one."""
    body_kib: PositiveInt = 1_024
    """The longest record that a client may write, and the longest body of a request that is read whole."""
    drain_s: Positive = 10
    """Time from SIGTERM to exit: streams are told to come back, then reset; below the 30 s that Kubernetes gives."""
