"""A thousand audits of right mechanisms raise no false alarm, at budgets that nobody chose for them and at the usual ones."""

import itertools

import pytest

from graphveil.audit import audit
from graphveil.audit.check import mechanism_checks
from graphveil.channels import SeededBits
from graphveil.errors import InputError
from graphveil.mechanisms import entry, names
from tests.mechanisms.test_asking import POOLED

AUDITS = 1000
BUDGETS = (0.003, 0.37, 1.0, 2.9, 7.3)
SOUND = [name for name in names() if entry(name).sound]


@pytest.mark.statistical  # each audit fails by chance in less than one of 100,000; the seeds are fixed
def test_a_thousand_audits_find_nothing(shows):
    found, count = {}, 0
    for seed in itertools.count():
        for name, epsilon in itertools.product(SOUND, BUDGETS):
            if count == AUDITS:
                shows(f"{count} audits, {len(found)} false alarms")
                assert found == {}
                return
            try:
                leaks = audit(name, epsilon=epsilon, quick=True, random_bits=SeededBits(seed)).leaks
            except InputError:
                continue  # not every mechanism takes every budget
            count += 1
            if leaks:
                found[name, epsilon, seed] = leaks


@pytest.mark.statistical  # a false alarm in a million
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("name", SOUND)
def test_every_mechanism_passes_its_audit(name, epsilon):
    run_audit(name, epsilon)


@pytest.mark.statistical  # a false alarm in a million
@pytest.mark.parametrize("name", POOLED)
def test_every_pooled_mechanism_passes_its_audit(name):
    run_audit(POOLED[name], 2.0)


def run_audit(what, epsilon):
    """The audit among the checks of a mechanism."""
    (check,) = (
        check for check in mechanism_checks(what, epsilons=[epsilon]) if check.name.startswith("the audit")
    )
    check.run()


@pytest.mark.statistical  # the same
@pytest.mark.parametrize("epsilon", [0.1, 4.0])
def test_ppm_as_printed_fails_about_the_level_alone(epsilon):
    found = audit("ppm-printed", epsilon=epsilon, quick=True, random_bits=SeededBits(3))
    assert not found.holds
    assert all(leak.startswith("the level is not protected") for leak in found.leaks)
