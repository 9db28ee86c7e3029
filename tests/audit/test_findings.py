"""How an exact ε is shown: its claim where it is as near as tables are built, and never where it is above."""

import signal
import time
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphveil.audit.findings import (
    Deadline,
    OutOfTimeError,
    check_time,
    exact_epsilon,
    exact_words,
    meets,
    within,
)
from graphveil.channels import onebit


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


@pytest.mark.parametrize("claim", [0.1, 0.5, 1.0, 3.0, 8.0, 0.12345678])
def test_what_a_table_is_built_for_is_shown_as_the_claim(claim):
    shown = exact_epsilon(onebit(claim).epsilon, claim)
    assert shown == f"{claim:.8g} (exact, rounded up)"
    assert 0 <= Decimal(claim) - Decimal(shown.digits) < Decimal(claim) * Decimal(2) ** -39


def test_anything_above_the_claim_is_shown_in_digits():
    above = float(np.nextafter(1.0, 2.0))
    assert not meets(above, 1.0)
    assert exact_epsilon(above, 1.0) == "1.00000000000001"


@pytest.mark.parametrize(("power", "near"), [(-39, True), (-38, False), (-40, True)])
def test_near_is_two_to_the_minus_39_of_the_claim(power, near):
    for claim in (1.0, 8.0):
        assert meets(claim * (1 - 2.0**power), claim) == near


def test_just_below_that_it_is_digits():
    below = float(np.nextafter(1 - 2.0**-39, 0.0))
    assert exact_epsilon(below, 1.0) == "0.999999999998181"


@pytest.mark.parametrize("exact", [0.0, float("inf")])
def test_what_protects_wholly_or_not_at_all_is_no_claim(exact):
    assert "rounded" not in exact_epsilon(exact, float("inf"))
    assert "rounded" not in exact_epsilon(exact, 1.0)


def test_a_sentence_says_that_it_was_rounded():
    assert exact_words(2 * (1 - 2.0**-40), 2.0) == "2, rounded up"
    assert exact_words(1.5, 2.0) == "1.5"


@given(st.floats(1e-3, 50), st.floats(0.9, 1.1))
def test_what_is_shown_is_never_below_the_exact_number(claim, share):
    exact = claim * share
    shown = exact_epsilon(exact, claim)
    # A claim is shown as it is typed: what counts is the double that it is read as.
    assert float(shown.split()[0]) >= exact
    assert Decimal(shown.digits) >= Decimal(exact)
