"""Content security policies."""


def directives(policy: str) -> dict[str, set[str]]:
    """What each directive of a policy allows."""
    words = [directive.split() for directive in policy.split(";")]
    return {name: set(sources) for name, *sources in words}
