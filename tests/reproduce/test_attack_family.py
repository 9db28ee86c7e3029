"""A family of attacks: everything that is sound is in it, and its rate of false alarms is that of all together."""

from itertools import product

import pytest

from graphveil.attacks import AttackPoint, Played, Stakes, Tally
from graphveil.mechanisms import entry, names
from reproduce.attack_family import EPSILONS, broken, sound_cases


def point(right, guesses=1000):
    return AttackPoint(0.0, (Played(Stakes(2, 0.0), Tally(right, guesses), Tally(0, 1)),))


def test_every_sound_mechanism_is_attacked():
    cases = list(sound_cases())
    attacked = {case.name.rpartition(": ")[2] for case in cases}
    everything = {name for subject in ("features", "level", "label", "links") for name in names(subject)}
    assert {name for name in everything if entry(name).sound} <= attacked
    assert "ppm-printed" not in attacked
    assert len({case.name for case in cases}) == len(cases)
    names_of_cases = {case.name for case in cases}
    for seen in ("scores", "embedding"):
        assert {f"label: {seen} of base", f"membership: {seen} of base"} <= names_of_cases
    # Every case can be played.
    for case, epsilon in product(cases, EPSILONS):
        case.target.check(epsilon)


def test_more_points_need_stronger_evidence():
    # 550 of 1,000 fair coins and more: 0.087% (binomial tail).
    suspect = point(550)
    assert suspect.how_likely == pytest.approx(0.000865, abs=1e-5)
    assert not suspect.holds
    assert broken([suspect], 0.001) == [suspect]
    assert broken([suspect, point(500)], 0.001) == []
    assert broken([suspect], 0.001, of=2) == []


def test_gross_faults_are_seen_among_many():
    assert broken([point(600), *[point(500)] * 199]) == [point(600)]
