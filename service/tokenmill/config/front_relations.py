"""The constraints between the settings of front, caller and upstreams."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from tokenmill.config.base import Contradiction, wrong, wrong_pair
from tokenmill.config.gateway_relations import open_to_all
from tokenmill.config.sections import Config
from tokenmill.config.upstreams import MESSAGES_ONLY, Upstream, written_format
from tokenmill.errors import BadOpen
from tokenmill.formats import compile_grammar
from tokenmill.limits import MODEL_CHARS
from tokenmill.parser.options import read_options

NO_UPSTREAMS = "there are no [[upstreams]]: a front has no model to offer, and a caller none to call"
"""Warning, not a contradiction: callers and fronts may be started before any model exists."""

NO_BASE = "must be http:// or https://, a host, and no user, query or fragment"
"""Problem of an address that fails `is_base`. The address is not shown, because it may hold credentials."""


def front_contradictions(config: Config) -> Iterator[Contradiction]:
    """Every constraint that does not hold."""
    front = config.front
    yield from open_to_all(config.gateway, "front.bind", front.bind, "use the models")
    if front.port and front.port == front.ops_port:
        yield wrong_pair("front.ops_port", "front.port", "must differ from {}")
    known: dict[str, str] = {}
    for number, upstream in enumerate(config.upstreams):
        yield from _upstream(f"upstreams[{number}]", upstream, config, known)


def _upstream(place: str, upstream: Upstream, config: Config, known: dict[str, str]) -> Iterator[Contradiction]:
    yield from _models(place, upstream, known)
    yield from _urls(place, upstream)
    yield from _templates(place, upstream)
    if "format" in upstream.open:
        yield wrong(f"{place}.open.format", f"set {place}.format", f"{place}.open")
        return
    try:
        for format_ in dict.fromkeys(written_format(upstream, model) for model in upstream.models):
            options = read_options({"format": format_, **upstream.open}, config.parser.options)
            compile_grammar(options, config.limits)
    except BadOpen as problem:
        yield (f"{place}.format", f"{place}.open"), f"{place}.format and open: {problem}"


def _models(place: str, upstream: Upstream, known: dict[str, str]) -> Iterator[Contradiction]:
    key = f"{place}.models"
    if not upstream.models or not all(upstream.models):
        yield wrong(key, "name the models that clients get from it")
    for model in upstream.models:
        if len(model) > MODEL_CHARS:
            yield wrong(key, f"{model[:20]!r}…: a name may have {MODEL_CHARS} characters")
        if model in known:
            yield wrong(key, f"{model!r} is in {known[model]}, too; put all URLs into one table")
        known[model] = key


def _urls(place: str, upstream: Upstream) -> Iterator[Contradiction]:
    key = f"{place}.urls"
    if not upstream.urls:
        yield wrong(key, "give the server's address, such as http://10.0.0.7:8000")
    for number, url in enumerate(upstream.urls):
        if not is_base(url):
            yield wrong(f"{key}[{number}]", NO_BASE, key)
        elif url.rstrip("/").endswith("/v1"):  # as SDKs want it: each request would get a 404
            yield wrong(f"{key}[{number}]", "leave /v1 out; the API's path is appended", key)
    if len(set(upstream.urls)) < len(upstream.urls):
        yield wrong(key, "one is listed twice")


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
    key, kind_key, kind = f"{place}.template_file", f"{place}.kind", upstream.kind
    if kind == "completions" and not upstream.template_file:
        yield wrong(key, "is needed where kind is completions: the prompt is made here", kind_key)
    if kind in MESSAGES_ONLY and upstream.template_file:
        yield wrong(key, f"has no effect where kind is {kind}, which takes messages, not a prompt", kind_key)
    if upstream.template_tokens and not upstream.template_file:
        sentence = "has no effect without template_file, whose template writes them"
        yield wrong(f"{place}.template_tokens", sentence, key)
    if upstream.continues and kind in MESSAGES_ONLY:
        yield wrong(f"{place}.continues", f"a server of kind {kind} can't continue an answer", kind_key)
