"""What each check finds is shown on the broken mechanisms of tests/faults; here, that sound ones are left alone. Counting, charging and looking over must not depend on a value, and must charge what reports give away."""

from dataclasses import fields, replace

import numpy as np
import pytest

from graphveil.audit.behaviour import (
    behaviour_step,
    check_charges,
    control_step,
    sighted_reports,
    sighted_tables,
)
from graphveil.audit.candidate import Candidate
from graphveil.audit.findings import LeakError
from graphveil.audit.reports import Version, same_reports
from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, mechanism, names
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
    check_charges(Version(mechanism(name, epsilon=1.0, **settings), UNIT))


def test_a_user_who_is_charged_nothing_is_seen():
    class Free(type(mechanism("ppm", epsilon=1.0, dims=3, range=(0, 1)))):
        def costs(self, private):
            return np.zeros(len(private))

    sealed = mechanism("ppm", epsilon=1.0, dims=3, range=(0, 1))
    free = Free(**{field.name: getattr(sealed, field.name) for field in fields(sealed)})
    with pytest.raises(LeakError, match="charged less than the budget of their level"):
        check_charges(Version(free, UNIT))


class _Discounted(FeatureMechanism):
    budgets = (0.125, 1.0)

    def costs(self, private):
        return np.full(len(private), 0.125)


class _Cheaper(FeatureMechanism):
    def costs(self, private):
        return np.full(len(private), 0.125)


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (_Discounted, "names budgets of levels, and its users hold none"),
        (_Cheaper, "are charged less than the budget"),
    ],
)
def test_a_stranger_without_levels_must_charge_the_claim(kind, told):
    with pytest.raises(LeakError, match=told):
        check_charges(Version(_made(kind), UNIT))


def test_looking_over_must_not_fail():
    class Loud(type(mechanism("multibit", epsilon=1.0, dims=3, range=(0, 1)))):
        def altered(self, private):
            raise ValueError("a row holds 0.7310585")

    plain = mechanism("multibit", epsilon=1.0, dims=3, range=(0, 1))
    loud = Loud(**{field.name: getattr(plain, field.name) for field in fields(plain)})
    with pytest.raises(LeakError, match="^altered fails on") as raised:
        check_charges(Version(loud, UNIT))
    assert "0.73" not in str(raised.value)


def _made(kind):
    return kind("mine", Claim(1.0), UNIT, 4, 4, (onebit(0.25),), 1.0)


class _Kept(FeatureMechanism):
    def blind(self):
        return replace(self, claim=Claim(0.0))


class _Refusing(FeatureMechanism):
    def blind(self):
        raise NotImplementedError


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("featurerr", {"dims": 4, "range": (0, 1)}),
        ("ppm", {"dims": 4, "range": (0, 1)}),
        ("privunit", {"dims": 4, "range": (0, 1)}),
        ("dprr", {"dims": 5}),
        ("lapgraph", {"dims": 5}),
    ],
)
def test_controls_of_the_package_are_blind(name, settings):
    assert control_step(Version(mechanism(name, epsilon=1.0, **settings), UNIT)).leaks == ()


def test_a_control_that_keeps_the_channel_is_not():
    leaks = control_step(Version(_made(_Kept), UNIT)).leaks
    assert "its control is not blind: onebit has an exact epsilon of 0.25" in leaks[0]
    assert "answers rows at 0 and rows at 1 differently" in leaks[1]


def test_tables_are_read_whatever_a_channel_says_of_its_loss():
    class Boasting(type(onebit(1.0))):
        loss = onebit(1.0).blind().loss

    channel = onebit(1.0)
    said = Boasting("said", channel.table, channel.inputs, channel.outputs, Claim(0.0))
    control = FeatureMechanism("control", Claim(0.0), UNIT, 2, 2, (said,), 1.0)
    assert control.loss.terms == ()
    assert sighted_tables(control) and sighted_reports(Version(control, UNIT))


def test_a_missing_control_is_said_not_to_be_covered():
    step = control_step(Version(_made(_Refusing), UNIT))
    assert step.skipped and "it has none" in step.gaps[0]
