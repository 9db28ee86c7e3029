"""How fast one sender may be."""

from graphveil.collect.service import RateLimit


def test_a_bucket_empties_and_fills():
    now = [0.0]
    limit = RateLimit(a_second=2.0, at_once=3, clock=lambda: now[0])
    assert [limit.wait("a") for _ in range(3)] == [0.0] * 3
    assert limit.wait("a") == 0.5
    now[0] = 0.5
    assert limit.wait("a") == 0.0 and limit.wait("a") == 0.5


def test_senders_do_not_share():
    limit = RateLimit(a_second=1.0, at_once=1, clock=lambda: 0.0)
    assert limit.wait("a") == 0.0 and limit.wait("b") == 0.0 and limit.wait("a") == 1.0


def test_few_senders_are_remembered():
    limit = RateLimit(a_second=1.0, at_once=1, remembered=10, clock=lambda: 0.0)
    for sender in range(1000):
        limit.wait(sender)
    assert len(limit._full) == 10
