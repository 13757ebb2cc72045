"""A server that fails again and again is left alone, and then tried by one request."""

from tokenmill.breaker import Breaker


def broken() -> Breaker[str]:
    """One that has failed three times, which is too often, and is left alone up to 12."""
    breaker: Breaker[str] = Breaker(most=3, rest_s=10)
    for now in range(3):
        breaker.fails(now)
    return breaker


def test_few_failures_close_nothing() -> None:
    """Nor do many with an answer between them."""
    breaker: Breaker[str] = Breaker(most=3, rest_s=10)
    for now in range(0, 20, 2):
        breaker.fails(now)
        breaker.fails(now + 1)
        assert not breaker.broken
        assert (breaker.closed(now + 1), breaker.rests(now + 1)) == (False, 0)
        breaker.works()


def test_a_server_that_failed_too_often_is_left_alone_for_a_while() -> None:
    """From the last failure on."""
    breaker = broken()
    assert [breaker.closed(now) for now in (2, 11.9, 12)] == [True, True, False]
    assert [breaker.rests(now) for now in (2, 11.5, 12, 99)] == [10, 0.5, 0, 0]


def test_one_try_shuts_out_all_others() -> None:
    """If it fails the server is left alone again, if it ends without an answer another one may try."""
    breaker = broken()
    breaker.probe = "first"
    assert (breaker.closed(12), breaker.rests(12)) == (True, 0)
    breaker.probe = None
    assert not breaker.closed(12)
    breaker.fails(12)
    assert (breaker.closed(21), breaker.closed(22)) == (True, False)


def test_an_answer_opens_a_server_to_all() -> None:
    """Whatever it answers, and the failures begin to count anew."""
    breaker = broken()
    breaker.probe = "first"
    breaker.works()
    assert (breaker.broken, breaker.closed(2), breaker.rests(2)) == (False, False, 0)
    breaker.fails(13)
    assert not breaker.broken
