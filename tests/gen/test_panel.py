"""Questions of panels, as Prometheus takes them."""

from tokenmill.gen.panel import WORKERS, Query, buckets, quantiles, rate, rate_by, rates, stat, total, total_by, within


def test_a_rate_is_added_up_over_workers() -> None:
    """All of them, or by a label; of some series only if asked."""
    assert rate("m") == f"sum (rate(m{{{WORKERS}}}[$__rate_interval]))"
    assert rate("m", "a, b", 'c="d"') == f'sum by (a, b) (rate(m{{{WORKERS}, c="d"}}[$__rate_interval]))'


def test_a_gauge_is_added_up_over_workers() -> None:
    """As it is."""
    assert total("m", "instance") == f"sum by (instance) (m{{{WORKERS}}})"


def test_a_gain_is_that_of_the_time_shown() -> None:
    """Of a series that was there before, its increase; of one that began since, all. A missing one gained 0."""
    series = f"m{{{WORKERS}}}"
    began = f"(sum(last_over_time({series}[$__range]) unless {series} offset $__range) or vector(0))"
    assert within("m") == f"{began} + (sum(increase({series}[$__range]) and {series} offset $__range) or vector(0))"


def test_a_histogram_is_asked_for_its_buckets() -> None:
    """As a heat map, or as three quantiles."""
    (heat,) = buckets("m")
    assert heat.expr == rate("m_bucket", "le")
    assert [(query.legend, query.expr) for query in quantiles("m")] == [
        (f"p{share}", f"histogram_quantile({share / 100:g}, {heat.expr})") for share in (50, 95, 99)
    ]


def test_lines_by_labels_have_the_labels_as_their_names() -> None:
    """All of them, in order."""
    assert rate_by("m", "a", "b", where='c="d"') == Query(rate("m", "a, b", 'c="d"'), "{{a}} {{b}}")
    assert total_by("m", "a") == Query(total("m", "a"), "{{a}}")


def test_an_expression_alone_is_a_query_without_a_legend() -> None:
    """The panel's title stands for it."""
    assert stat("title", "text", "1").queries == rates("title", "text", Query("1")).queries == (Query("1"),)
