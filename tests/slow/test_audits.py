"""A thousand audits of right mechanisms raise no false alarm, at budgets that nobody chose for them."""

import itertools

import pytest

from graphveil.audit import audit
from graphveil.channels import SeededWords
from graphveil.errors import InputError
from graphveil.mechanisms import entry, names

AUDITS = 1000
BUDGETS = (0.003, 0.37, 1.0, 2.9, 7.3)


@pytest.mark.statistical  # each audit fails by chance in less than one of 100,000; the seeds are fixed
def test_a_thousand_audits_find_nothing():
    sound = [name for name in names() if entry(name).sound]
    found, count = {}, 0
    for seed in itertools.count():
        for name, epsilon in itertools.product(sound, BUDGETS):
            if count == AUDITS:
                assert found == {}
                return
            try:
                leaks = audit(name, epsilon=epsilon, quick=True, words=SeededWords(seed)).leaks
            except InputError:
                continue  # not every mechanism takes every budget
            count += 1
            if leaks:
                found[name, epsilon, seed] = leaks
