"""The dashboard's row about the front: the answers to its clients, and how long they wait."""

from tokenmill.gen.panel import GROUP, WORKERS, Panel, Query, Row, buckets, quantiles, rate, total

FIRST_EVENT = "tokenmill_front_first_event_seconds"

FRONT = Row(
    "Front",
    (
        Panel(
            title="Fronts",
            text="By version.",
            queries=(Query(f"count by (version) (tokenmill_front_build_info{{{WORKERS}}})", "{{version}}"),),
            kind="stat",
            width=4,
        ),
        Panel(
            title="Requests under way",
            text="Clients that are being answered.",
            queries=(Query(total("tokenmill_front_readers")),),
            kind="stat",
            width=4,
        ),
        Panel(
            title="Requests that fail",
            text="Share of the last hour's requests with a server error, status 500 and above.",
            queries=(Query(f"job:tokenmill_front_failed_requests:ratio_rate1h{{{GROUP}}}"),),
            kind="stat",
            unit="percentunit",
            width=4,
            red=0.05,
        ),
        Panel(
            title="First event, p95",
            text="From a request to the first event of its answer. Long prompts take time.",
            queries=(quantiles(FIRST_EVENT)[1],),
            kind="stat",
            unit="s",
            width=4,
            red=30,
        ),
        Panel(
            title="Known requests",
            text="Requests of the last minutes, by the front with most. A repeated one starts no new generation.",
            queries=(Query(f"max(tokenmill_front_known_requests{{{WORKERS}}})"),),
            kind="stat",
            width=4,
        ),
        Panel(
            title="Requests",
            text="Requests for answers, by status class. `left`: the client left early.",
            queries=(Query(rate("tokenmill_front_requests_total", "status"), "{{status}}"),),
            unit="ops",
        ),
        Panel(
            title="Requests by API",
            text="Chat completions, Responses or Messages.",
            queries=(Query(rate("tokenmill_front_requests_total", "api"), "{{api}}"),),
            unit="ops",
        ),
        Panel(
            title="Attached, abandoned, clocks apart",
            text="Requests that got an existing answer, by how it was found; answers that nobody read; wrong clocks.",
            queries=(
                Query(rate("tokenmill_front_attached_total", "how"), "{{how}}"),
                Query(rate("tokenmill_front_abandoned_total"), "abandoned"),
                Query(rate("tokenmill_front_clocks_apart_total"), "clocks apart"),
            ),
            unit="ops",
        ),
        Panel(
            title="Request to first event",
            text="Includes the wait for a place and the model's own time.",
            queries=quantiles(FIRST_EVENT),
            unit="s",
        ),
        Panel(
            title="Request to first event, all of them",
            text="As a heat map.",
            queries=buckets(FIRST_EVENT),
            kind="heatmap",
            unit="s",
        ),
    ),
)
