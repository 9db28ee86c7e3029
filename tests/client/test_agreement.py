"""What is agreed on at enrolment is checked when it is made."""

from dataclasses import replace
from functools import partial

import pytest

from graphveil import InputError, Plan
from graphveil.client import Cap
from graphveil.client.agreement import (
    FEW_PEOPLE,
    check_excluded,
    read_agreement,
    terms_text,
    what_is_asked,
    write_agreement,
)
from graphveil.errors import StoreError
from graphveil.mechanisms.limits import MAX_DIMS
from tests.client.support import AGREEMENT, OFFER
from tests.together import together

DAY = 86_400


WRONG = {
    Cap: [
        *({"epsilon": -1.0}, {"epsilon": float("inf")}, {"epsilon": 1.0, "delta": 1.0}),
        *({"epsilon": 1.0, "by_level": ()}, {"epsilon": 1.0, "by_level": (1.0, -1.0)}),
        *({"epsilon": 1.0, "renewal_days": 0}, {"epsilon": 1.0, "renewal_days": 1.5}),
    ],
    partial(replace, OFFER): [
        *({"dims": 0}, {"range": None}, {"range": (1.0, 1.0)}, {"purpose": ""}, {"purpose": "a" * 2001}),
        *({"key": b"short"}, {"collection": "c0"}, {"classes": -1}, {"classes": 1 << 40}),
        *({"people": -1}, {"people": 1 << 50}),
    ],
    partial(replace, AGREEMENT): [
        *({"excluded": (4,)}, {"subjects": ()}, {"subjects": ("secrets",)}, {"user": -1}, {"pseudonym": "x"}),
    ],
}


@together(("make", "told"), [(make, told) for make, wrong in WRONG.items() for told in wrong])
def test_a_cap_an_offer_or_an_agreement_that_is_none_is_refused(make, told):
    with pytest.raises(InputError):
        make(**told)


def test_periods_are_counted_from_enrolment_and_a_cap_for_life_has_one():
    monthly = Cap(1.0, renewal_days=30)
    times = (-5, 0, 30 * DAY - 1, 30 * DAY, 90 * DAY)
    assert [monthly.period(1000, 1000 + passed) for passed in times] == [0, 0, 0, 1, 3]
    assert Cap(1.0).period(0, 1e12) == 0


def test_volunteers_exclude_nothing_and_are_taken_where_the_collection_says_so():
    with pytest.raises(InputError, match="takes no raw rows"):
        replace(AGREEMENT, offer=replace(OFFER, volunteers=False), volunteer=True)
    with pytest.raises(InputError, match="exclude nothing, or do not volunteer"):
        replace(AGREEMENT, excluded=(1,), volunteer=True)
    replace(AGREEMENT, volunteer=True)
    assert check_excluded([3, 1, 3], 4) == (1, 3)


@pytest.mark.parametrize(
    ("people", "most"),
    [(0, FEW_PEOPLE), (40, FEW_PEOPLE), (100_000, 400_000), (10**7, MAX_DIMS)],
)
def test_a_collection_may_grow_and_the_owner_agrees_how_far(people, most):
    assert replace(OFFER, people=people).most_people == most


@pytest.mark.parametrize(
    "agreement",
    [
        AGREEMENT,
        replace(AGREEMENT, cap=Cap(0.1, 1e-6, (0.1, 0.3), 30), excluded=(0, 3), subjects=("label", "links")),
    ],
)
def test_an_agreement_is_read_back(agreement):
    assert read_agreement(write_agreement(agreement)) == agreement


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace('"user"', '"loser"'),
        lambda text: text.replace('"key": "', '"key": "zz'),
        lambda text: text[:-1],
        lambda text: "null",
        lambda text: "[]",
        lambda text: "[" * 100_000,
    ],
)
def test_an_agreement_that_is_damaged_is_said(damage):
    with pytest.raises(StoreError, match="damaged"):
        read_agreement(damage(write_agreement(AGREEMENT)))


ROW = {"dims": 4, "range": (0, 1)}


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"mechanism": "multibit", "sampled": 2, **ROW}, "2 of the 4 values of your row, randomized"),
        ({"mechanism": "privunit", **ROW}, "your row of 4 values, randomized"),
        ({"mechanism": "ppm", "levels": 2, **ROW}, "your row of 4 values, randomized"),
        ({"mechanism": "krr", "classes": 3}, "which of 3 labels you have, randomized"),
        ({"mechanism": "link-rr", "dims": 9}, "whom you are linked to, among 9 users, each link randomized"),
    ],
)
def test_what_is_asked_in_words(plan, words):
    assert what_is_asked(Plan(epsilon=1.0, **plan)) == words


def test_an_owner_reads_what_may_be_spent_excluded_and_given():
    assert terms_text(OFFER, Cap(2.0, 1e-6), (0, 3), True) == [
        "You will spend at most ε = 2 and δ = 1e-06 in it, for life.",
        "No answer may depend on attribute 0, 3.",
        "You give your row AS IT IS, without any noise: no ε describes that.",
    ]
    assert OFFER.largest_norm == 2.0
    assert replace(OFFER, dims=9, range=(-2.0, 1.0)).largest_norm == 6.0
