"""The dashboard's row about the front: what clients of its APIs are answered, and how long they wait."""

from tokenmill.gen.panel import GROUP, WORKERS, Panel, Query, Row, buckets, quantiles, rate, total

FIRST_EVENT = "tokenmill_front_first_event_seconds"

FRONT = Row(
    "Front",
    (
        Panel(
            title="Fronts",
            text="By what they run.",
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
            text="Share of the last hour's requests that were answered with a status of the server's, 500 and above.",
            queries=(Query(f"job:tokenmill_front_failed_requests:ratio_rate1h{{{GROUP}}}"),),
            kind="stat",
            unit="percentunit",
            width=4,
            red=0.05,
        ),
        Panel(
            title="First event, p95",
            text="From a request until the first event of its answer could be told. Long prompts take their time.",
            queries=(quantiles(FIRST_EVENT)[1],),
            kind="stat",
            unit="s",
            width=4,
            red=30,
        ),
        Panel(
            title="Known requests",
            text="Of the last minutes, by the front that knows most. What comes again is no new generation.",
            queries=(Query(f"max(tokenmill_front_known_requests{{{WORKERS}}})"),),
            kind="stat",
            width=4,
        ),
        Panel(
            title="Requests",
            text="For answers, by the class of their status. `left`: the client went before.",
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
            title="Attached, abandoned",
            text="Requests that got an answer which was there, by how it was found; answers that nobody read.",
            queries=(
                Query(rate("tokenmill_front_attached_total", "how"), "{{how}}"),
                Query(rate("tokenmill_front_abandoned_total"), "abandoned"),
            ),
            unit="ops",
        ),
        Panel(
            title="Request to first event",
            text="The wait for a place and the model's own time are in it.",
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
