"""The page of the gateway."""

from tokenmill.gateway.problems import KINDS
from tokenmill.gateway.routes.table import ROUTES
from tokenmill.gen import gateway


def test_every_route_and_every_problem_is_on_the_page() -> None:
    """Routes with what can be said to them."""
    page = gateway.page()
    for route in ROUTES:
        assert f"### `{route.method} {route.path}`" in page
        assert all(f"| `{parameter.name}` | {parameter.place} |" in page for parameter in route.parameters)
    for kind in KINDS:
        assert f"| `{kind.name}` | {kind.status} |" in page
