"""Generated files: reference, JSON schemas, sample configuration, dashboard, chart, plots. Only a checkout has them.

A function makes each from the lists and tables of the package, so that none can be forgotten or wrong.
A new one is a function and one line in `FILES`.
"""

from collections.abc import Callable

from tokenmill.plugins import load_plugins

load_plugins()  # first: the components of systems have pages, and some modules make tables of all components

from tokenmill.gen import (  # noqa: E402 -- see above
    apis,
    asyncapi,
    benchmarks,
    chart,
    codecs,
    commands,
    conversions,
    dashboard,
    dead_letters,
    dialects,
    events,
    formats,
    gateway,
    metrics,
    openapi,
    settings,
    state_lock,
    typescript,
)

FILES: dict[str, Callable[[], str]] = {
    "docs/reference/apis.md": apis.page,
    "docs/reference/asyncapi.json": asyncapi.document,
    "docs/reference/codecs.md": codecs.page,
    "docs/reference/commands.md": commands.page,
    "docs/reference/configuration.md": settings.page,
    "docs/reference/conversions.md": conversions.page,
    "docs/reference/dead-letters.md": dead_letters.page,
    "docs/reference/dialects.md": dialects.page,
    "docs/reference/events.md": events.page,
    "docs/reference/events.schema.json": events.schema,
    "docs/reference/chunk.schema.json": events.chunk_schema,
    "docs/reference/formats.md": formats.page,
    **{f"docs/reference/formats/{name}": make for name, make in formats.pages().items()},
    "docs/reference/gateway.md": gateway.page,
    "docs/reference/metrics.md": metrics.page,
    "docs/reference/openapi.json": openapi.document,
    **benchmarks.files(),
    **typescript.files(),
    "deploy/grafana/tokenmill.json": dashboard.dashboard,
    "deploy/tokenmill.toml": settings.sample,
    "helm/tokenmill/README.md": chart.readme,
    "helm/tokenmill/files/alerts.yaml": chart.copy_of("deploy/prometheus/alerts.yaml"),
    "helm/tokenmill/files/recording.yaml": chart.copy_of("deploy/prometheus/recording.yaml"),
    "helm/tokenmill/files/tokenmill.json": dashboard.dashboard,
    "helm/tokenmill/values.schema.json": chart.schema,
    state_lock.LOCK: state_lock.text,
}
"""Path in the checkout → function that makes the file's text."""
