"""What an owner reads before saying yes."""

from __future__ import annotations

import pytest

from graphveil import Plan
from graphveil.client import Cap
from graphveil.client.agreement import terms_text, what_is_asked
from tests.client.support import OFFER

ROW = {"dims": 4, "range": (0, 1)}


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"mechanism": "multibit", "sampled": 2, **ROW}, "2 of the 4 values of your row, randomized"),
        ({"mechanism": "krr", "classes": 3}, "which of 3 labels you have, randomized"),
        ({"mechanism": "link-rr", "dims": 9}, "whom you are linked to, among 9 users, each link randomized"),
    ],
)
def test_what_is_asked_in_words(plan, words):
    assert what_is_asked(Plan(epsilon=1.0, **plan)) == words


def test_terms_say_what_may_be_spent_excluded_and_given():
    assert terms_text(OFFER, Cap(2.0, 1e-6), (0, 3), True) == [
        "You will spend at most ε = 2 and δ = 1e-06 in it, for life.",
        "No answer may depend on attribute 0, 3.",
        "You give your row AS IT IS, without any noise: no ε describes that.",
    ]
