"""What each check finds is shown on the broken mechanisms of tests/faults; here, that sound ones are left alone. Counting, charging and looking over must not depend on a value, and must charge what reports give away."""

from dataclasses import fields

import numpy as np
import pytest

from graphveil.audit.behaviour import behaviour_step, charged_alike
from graphveil.audit.candidate import Candidate
from graphveil.audit.drawn_reports import same_reports
from graphveil.mechanisms import mechanism, names
from graphveil.mechanisms.rows import PublicRange


@pytest.mark.statistical  # a false alarm in a million each
@pytest.mark.parametrize("name", names())
def test_sound_mechanisms_are_not_accused(name):
    assert behaviour_step(Candidate.of(name, 8.0), None).leaks == ()


@pytest.mark.parametrize("name", ["multibit", "laplace"])
def test_sound_mechanisms_are_not_accused_for_a_range_of_their_own(name):
    built = mechanism(name, epsilon=1.0, dims=5, range=(-1000, -3))
    assert behaviour_step(Candidate.of(built), None).leaks == ()


def test_reports_are_the_same_if_they_say_the_same():
    built = mechanism("multibit", epsilon=1.0, dims=4, range=(0, 1))
    reports = built.randomize([[0, 1, 1, 0]])
    assert same_reports(reports, reports.row(0))
    assert not same_reports(reports, built.randomize([[0, 1, 1, 0]] * 2))


UNIT = PublicRange(0.0, 1.0)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("multibit", {"dims": 4, "range": (0, 1)}),
        ("item", {"dims": 4, "length": 2}),
        ("privunit", {"dims": 4, "range": (0, 1)}),
        ("ppm", {"dims": 4, "range": (0, 1)}),
        ("krr", {"classes": 3}),
        ("esw", {"levels": 3}),
        ("link-rr", {"dims": 4}),
    ],
)
def test_right_mechanisms_charge_everybody_alike(name, settings):
    assert charged_alike(mechanism(name, epsilon=1.0, **settings), UNIT) == []


def test_a_user_who_is_charged_nothing_is_seen():
    class Free(type(mechanism("ppm", epsilon=1.0, dims=3, range=(0, 1)))):
        def costs(self, private):
            return np.zeros(len(private))

    sealed = mechanism("ppm", epsilon=1.0, dims=3, range=(0, 1))
    free = Free(**{field.name: getattr(sealed, field.name) for field in fields(sealed)})
    assert "charged less than the budget of their level" in charged_alike(free, UNIT)[0]


def test_looking_over_must_not_fail():
    class Loud(type(mechanism("multibit", epsilon=1.0, dims=3, range=(0, 1)))):
        def altered(self, private):
            raise ValueError("a row holds 0.7310585")

    plain = mechanism("multibit", epsilon=1.0, dims=3, range=(0, 1))
    loud = Loud(**{field.name: getattr(plain, field.name) for field in fields(plain)})
    (leak,) = charged_alike(loud, UNIT)
    assert leak.startswith("altered fails on") and "0.73" not in leak
