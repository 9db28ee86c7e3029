"""Calls that arrive in the order in which they are finished, whoever interrupts."""

import os
import random
import signal
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from graphveil.experiments.engine import FinishedCalls, call_result, uninterrupted


def test_what_is_finished_arrives_once_in_its_order():
    first, second, third = (Future() for _ in range(3))
    first.set_result(1)
    calls = FinishedCalls([third, first, second])
    third.set_result(3)
    assert len(calls) == 3
    assert calls.next() is first
    second.set_exception(ValueError("two"))
    later = Future()
    later.cancel()
    calls.add(later)
    assert list(calls) == [third, second, later]
    assert len(calls) == 0


def test_what_a_call_raises_is_raised():
    with ThreadPoolExecutor(1) as pool:
        assert call_result(pool.submit(abs, -3)) == 3
        with pytest.raises(ZeroDivisionError):
            call_result(pool.submit(divmod, 1, 0))


@pytest.fixture(autouse=True)
def interruptible():
    """Interrupts arrive, also where tests run in the background, which lets a shell ignore them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def by_arriving(futures):
    for _ in FinishedCalls(futures):
        raise AssertionError("nothing is ever finished")


def interrupted_often(waiting, futures):
    """Interrupt whoever waits for futures, at many moments."""
    draw = random.Random(0)
    for _ in range(25):
        timer = threading.Timer(draw.uniform(0.0, 0.05), os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            timer.start()
            waiting(futures)
        timer.join()


def locked(futures):
    """How many of the futures nobody else can touch any more."""

    def count():
        free = [each for each in futures if each._condition.acquire(blocking=False)]
        for each in free:
            each._condition.release()
        return len(futures) - len(free)

    with ThreadPoolExecutor(1) as other:
        return other.submit(count).result()


def test_an_interrupt_at_any_moment_leaves_no_future_locked():
    futures = [Future() for _ in range(5000)]
    interrupted_often(by_arriving, futures)
    assert locked(futures) == 0


def test_an_interrupt_that_does_not_wake_the_wait_is_still_seen():
    # A signal that another thread receives is noted, but the main thread sleeps on: as where it comes just before the wait begins.
    future, ended = Future(), threading.Event()
    other = threading.Thread(target=ended.wait)
    other.start()
    interrupt = threading.Timer(0.2, signal.pthread_kill, (other.ident, signal.SIGINT))
    rescue = threading.Timer(20, future.set_result, (None,))
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupt.start()
            rescue.start()
            FinishedCalls([future]).next()
        assert not future.done()
    finally:
        rescue.cancel()
        ended.set()
        other.join()


def test_an_interrupt_that_comes_meanwhile_takes_effect_at_the_end_also_where_something_fails():
    seen = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        os.kill(os.getpid(), signal.SIGINT)
        seen.append("came")
    assert seen == ["came"]
    with pytest.raises(KeyboardInterrupt), uninterrupted():
        os.kill(os.getpid(), signal.SIGINT)
        raise ValueError("something else")


def test_other_threads_have_no_interrupts():
    def other():
        with uninterrupted():
            return signal.getsignal(signal.SIGINT)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(other).result() is signal.getsignal(signal.SIGINT)
