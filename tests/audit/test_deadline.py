import signal
import time

import pytest

from graphveil.audit.findings import Deadline, OutOfTimeError, check_time, within


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_time_is_over_when_the_clock_says_so():
    clock = Clock()
    with within(Deadline(10.0, clock)):
        check_time()
        clock.now = 10.0
        with pytest.raises(OutOfTimeError):
            check_time()
    check_time()


def test_a_part_ends_earlier():
    clock = Clock()
    whole = Deadline(10.0, clock)
    clock.now = 2.0
    assert whole.part(0.5).left == 4.0
    assert whole.left == 8.0


def test_no_mechanism_catches_it_by_accident():
    assert not issubclass(OutOfTimeError, Exception)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs SIGALRM")
@pytest.mark.timeout(120, method="thread")  # the audit's timer needs the signal for itself
def test_a_call_that_does_not_come_back_is_interrupted(monkeypatch):
    before = signal.getsignal(signal.SIGALRM)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    try:
        with pytest.raises(OutOfTimeError), within(Deadline(0.05)):
            while True:
                time.sleep(60)
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGALRM, before)
