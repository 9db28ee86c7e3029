"""Campaigns: what runs come to, and when a bound counts as broken."""

import math
from dataclasses import dataclass

import pytest

from graphveil.attacks import ATTACKS, Natural, Played, Stakes, Tally
from graphveil.attacks.campaign import AttackPoint, run_campaign
from graphveil.errors import InputError
from tests.refusals import check_refused


@dataclass(frozen=True)
class Fixed:
    """An attack that always wins so many of 100 guesses."""

    right: int = 50
    attack = ATTACKS.find("label")
    against: str = "krr"
    data: str = "town"

    def check(self, epsilon):
        if epsilon == -1:
            raise InputError("no such budget")

    def play(self, epsilon, seed):
        natural = {"own report": Natural(0.6 + seed / 10, 0.5)}
        return Played(Stakes(2, 1.0), Tally(self.right, 100), Tally(50, 100), natural)


def point(right, guesses=100, epsilon=1.0):
    return AttackPoint(epsilon, (Played(Stakes(2, epsilon), Tally(right, guesses), Tally(50, 100)),))


def test_guesses_of_all_runs_count_together_and_real_secrets_have_intervals_over_runs():
    campaign = run_campaign(Fixed(70), [1.0], runs=3, seed=0)
    found = campaign.points[0].to_dict()
    assert (found["guesses"], found["right"], found["mean"]) == (300, 210, 0.7)
    # Clopper and Pearson's interval of 210 in 300.
    assert (found["low"], found["high"]) == pytest.approx((0.6447, 0.7514), abs=1e-4)
    assert found["runs"] == [0.7] * 3
    (natural,) = run_campaign(Fixed(), [1.0], runs=2, seed=0).points[0].natural
    assert natural.found.mean == pytest.approx(0.65)
    assert natural.control.mean == 0.5
    assert natural.found.low < 0.6
    assert natural.found.high > 0.7


def test_a_bound_below_the_interval_is_broken_and_verdicts_say_by_how_much():
    # e/(1+e) = 0.731: 73 of 100 are not above it, 90 of 100 are.
    assert [point(right).holds for right in (73, 80, 90)] == [True, True, False]
    assert point(60).verdict == "60.0% of guesses are right, not above the 73.1% that ε = 1 allows"
    assert point(75).verdict.endswith("by no more than so few guesses are off by")
    assert "the promise is broken (where it is kept, at most" in point(83).verdict
    assert "less than one in a million of campaigns" in point(99).verdict
    assert point(2, 2, 0.0).how_likely == 0.25


def test_one_broken_bound_breaks_the_campaign_and_where_nothing_is_promised_nothing_is_broken():
    campaign = run_campaign(Fixed(90), [1.0, 2.0], runs=1, seed=0)
    assert not campaign.holds
    assert [each["epsilon"] for each in campaign.to_dict()["points"]] == [1.0, 2.0]
    free = AttackPoint(None, (Played(Stakes(2, math.inf), Tally(100, 100), Tally(50, 100)),))
    assert free.holds
    assert free.verdict == "100.0% of guesses are right; no ε promises anything about it"
    assert free.to_dict()["bound_epsilon"] is None


def test_every_budget_and_the_runs_are_checked_before_the_first_run():
    class Watching(Fixed):
        def play(self, epsilon, seed):
            raise AssertionError("played too early")

    check_refused(
        lambda budgets, runs: run_campaign(Watching(), budgets, runs=runs, seed=0),
        [([1.0, -1], 1, "no such budget"), ([1.0], 0, "runs must be an integer of at least 1, got 0")],
    )
