"""The constraints between the settings of front, caller and upstreams."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from tokenmill.config.base import Contradiction
from tokenmill.config.gateway_relations import is_loopback
from tokenmill.config.sections import Config
from tokenmill.config.upstreams import MESSAGES_ONLY, Upstream, written_format
from tokenmill.errors import BadOpen
from tokenmill.formats import compile_grammar
from tokenmill.limits import MODEL_CHARS
from tokenmill.parser.options import read_options

UNGUARDED = (
    "front.bind: {} can be reached from elsewhere, and gateway.auth is none: everybody could use the models; "
    "set gateway.auth, or bind to 127.0.0.1"
)

NO_UPSTREAMS = "there are no [[upstreams]]: a front has no model to offer, and a caller none to call"
"""Warning, not a contradiction: callers and fronts may be started before any model exists."""

NO_BASE = "must be http:// or https://, a host, and no user, query or fragment"
"""Problem of an address that fails `is_base`. The address is not shown, because it may hold credentials."""


def front_contradictions(config: Config) -> Iterator[Contradiction]:
    """Every constraint that does not hold."""
    front = config.front
    if config.gateway.auth == "none" and not is_loopback(front.bind):
        yield ("front.bind", "gateway.auth"), UNGUARDED.format(front.bind)
    if front.port and front.port == front.ops_port:
        yield ("front.ops_port", "front.port"), "front.ops_port: must differ from front.port"
    known: dict[str, str] = {}
    for number, upstream in enumerate(config.upstreams):
        yield from _upstream(f"upstreams[{number}]", upstream, config, known)


def _upstream(place: str, upstream: Upstream, config: Config, known: dict[str, str]) -> Iterator[Contradiction]:
    yield from _models(place, upstream, known)
    yield from _urls(place, upstream)
    yield from _templates(place, upstream)
    if "format" in upstream.open:
        yield (f"{place}.open",), f"{place}.open.format: set {place}.format"
        return
    try:
        for format_ in dict.fromkeys(written_format(upstream, model) for model in upstream.models):
            options = read_options({"format": format_, **upstream.open}, config.parser.options)
            compile_grammar(options, config.limits)
    except BadOpen as problem:
        yield (f"{place}.format", f"{place}.open"), f"{place}.format and open: {problem}"


def _models(place: str, upstream: Upstream, known: dict[str, str]) -> Iterator[Contradiction]:
    if not upstream.models or not all(upstream.models):
        yield (f"{place}.models",), f"{place}.models: name the models that clients get from it"
    for model in upstream.models:
        if len(model) > MODEL_CHARS:
            yield (f"{place}.models",), f"{place}.models: {model[:20]!r}…: a name may have {MODEL_CHARS} characters"
        if model in known:
            yield (
                (f"{place}.models",),
                f"{place}.models: {model!r} is in {known[model]}, too; put all URLs into one table",
            )
        known[model] = f"{place}.models"


def _urls(place: str, upstream: Upstream) -> Iterator[Contradiction]:
    if not upstream.urls:
        yield (f"{place}.urls",), f"{place}.urls: give the server's address, such as http://10.0.0.7:8000"
    for number, url in enumerate(upstream.urls):
        if not is_base(url):
            key = f"{place}.urls[{number}]"
            yield (f"{place}.urls",), f"{key}: {NO_BASE}"
        elif url.rstrip("/").endswith("/v1"):  # as SDKs want it: each request would get a 404
            key = f"{place}.urls[{number}]"
            yield (f"{place}.urls",), f"{key}: leave /v1 out; the API's path is appended"
    if len(set(upstream.urls)) < len(upstream.urls):
        yield (f"{place}.urls",), f"{place}.urls: one is listed twice"


def is_base(url: str) -> bool:
    """Whether paths of an API can be appended to it."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    bare = not (parts.query or parts.fragment or parts.username or parts.password)
    return bare and parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0


def _templates(place: str, upstream: Upstream) -> Iterator[Contradiction]:
    key, kind = f"{place}.template_file", upstream.kind
    if kind == "completions" and not upstream.template_file:
        yield (key, f"{place}.kind"), f"{key}: is needed where kind is completions: the prompt is made here"
    if kind in MESSAGES_ONLY and upstream.template_file:
        yield (key, f"{place}.kind"), f"{key}: has no effect where kind is {kind}, which takes messages, not a prompt"
    if upstream.template_tokens and not upstream.template_file:
        tokens = f"{place}.template_tokens"
        yield (tokens, key), f"{tokens}: has no effect without template_file, whose template writes them"
    if upstream.continues and kind in MESSAGES_ONLY:
        continues = f"{place}.continues"
        yield (continues, f"{place}.kind"), f"{continues}: a server of kind {kind} can't continue an answer"
