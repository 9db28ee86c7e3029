import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from graphveil import InputError
from graphveil.graphs import FewLabelSplit, GivenSplit, RandomSplit, Split
from graphveil.graphs.splits import check_seed, recipe_of
from tests.together import together

LABELS = np.array([0, 1] * 20)


def sizes(split):
    return int(split.train.sum()), int(split.validation.sum()), int(split.test.sum())


def same(first, second):
    return all(
        (getattr(first, part) == getattr(second, part)).all() for part in ("train", "validation", "test")
    )


def mask(*users, count=4):
    chosen = np.zeros(count, dtype=bool)
    chosen[list(users)] = True
    return chosen


def test_shares_are_half_and_two_quarters_unless_others_are_chosen():
    assert sizes(RandomSplit().draw(LABELS, 0)) == (20, 10, 10)
    assert sizes(RandomSplit(train=0.1, validation=0.2).draw(LABELS, 0)) == (4, 8, 28)


@given(
    labels=st.lists(st.integers(-1, 3), min_size=12, max_size=60),
    seed=st.integers(0, 1000),
    train=st.floats(0.1, 0.6),
    validation=st.floats(0.1, 0.3),
)
def test_a_random_split_divides_the_users_with_a_label(labels, seed, train, validation):
    labels = np.array(labels)
    try:
        split = RandomSplit(train, validation).draw(labels, seed)
    except InputError:
        assume(False)
    assert ((split.train.astype(int) + split.validation + split.test) == (labels != -1)).all()
    assert sizes(split)[0] == round(train * (labels != -1).sum())
    assert same(split, RandomSplit(train, validation).draw(labels, seed))


@given(
    counts=st.lists(st.integers(5, 12), min_size=2, max_size=4),
    per_class=st.integers(1, 4),
    seed=st.integers(0, 1000),
)
def test_a_few_label_split_has_the_same_number_of_each_class(counts, per_class, seed):
    labels = np.repeat(np.arange(len(counts)), counts)
    labels = np.concatenate([labels, [-1, -1]])
    split = FewLabelSplit(per_class, validation=1).draw(labels, seed)
    assert np.bincount(labels[split.train]).tolist() == [per_class] * len(counts)
    assert sizes(split) == (per_class * len(counts), 1, sum(counts) - per_class * len(counts) - 1)
    assert not (split.train | split.validation | split.test)[labels == -1].any()


@pytest.mark.parametrize("recipe", [RandomSplit(), FewLabelSplit(per_class=3, validation=5)])
def test_another_seed_gives_another_split(recipe):
    assert same(recipe.draw(LABELS, 3), recipe.draw(LABELS, 3))
    assert not same(recipe.draw(LABELS, 3), recipe.draw(LABELS, 4))


def test_given_masks_are_taken_as_they_are_for_some_users_or_in_turn():
    recipe = GivenSplit(mask(0, 1), mask(2), mask(3))
    split = recipe.draw(np.array([0, 1, 0, 1]), 7)
    assert (split.train.tolist(), split.test.tolist()) == (mask(0, 1).tolist(), mask(3).tolist())
    assert recipe.of(mask(1, 2, 3)).train.tolist() == [[True, False, False]]
    recipe = GivenSplit([mask(0, 1), mask(1, 2)], [mask(2), mask(3)], [mask(3), mask(0)])
    labels = np.array([0, 1, 0, 1])
    assert recipe.draw(labels, 1).train.tolist() == mask(1, 2).tolist()
    assert same(recipe.draw(labels, 0), recipe.draw(labels, 2))


@together(
    ("draw", "words"),
    [
        (lambda: RandomSplit(train=0.8, validation=0.2).draw(LABELS, 0), "leave some for testing"),
        (
            lambda: RandomSplit(train=0).draw(LABELS, 0),
            "train must be a number strictly between 0 and 1, got 0",
        ),
        (lambda: RandomSplit(0.6, 0.1).draw(np.array([0, 1, 0]), 0), "the validation split is empty"),
        (lambda: RandomSplit().draw(np.zeros(8, dtype=int), 0), "all training users have the same label"),
        (lambda: RandomSplit().draw(np.full(8, -1), 0), "no user has a label"),
        (lambda: RandomSplit().draw(LABELS, -1), "seed must be an integer of at least 0, got -1"),
        (lambda: FewLabelSplit(21, 1).draw(LABELS, 0), "class 0 has fewer than 21 users"),
        (lambda: FewLabelSplit(1, 38).draw(LABELS, 0), "validation must be below 38"),
        (lambda: FewLabelSplit(1, 0).draw(LABELS, 0), "validation must be an integer of at least 1, got 0"),
        (lambda: FewLabelSplit(0, 1).draw(LABELS, 0), "per_class must be an integer of at least 1, got 0"),
        (lambda: Split(mask(0), mask(0), mask(1)), "the masks overlap"),
        (lambda: Split(mask(0), mask(1), mask(2, count=5)), "must have the same length"),
        (lambda: GivenSplit(mask(0), mask(1), mask(2, count=5)), "must have the same shape"),
        (lambda: GivenSplit(mask(0), mask(1), mask(2)).draw(LABELS, 0), "one entry a user"),
        (
            lambda: GivenSplit(mask(0, 1), mask(2), mask(3)).draw(np.array([0, 1, 0, -1]), 0),
            "the test split holds 1 users without a label",
        ),
        (
            lambda: GivenSplit(mask(0, 1), mask(2), mask(3)).draw(
                np.array([[0, 1], [1, 1], [0, 0], [-1, -1]]), 0
            ),
            "the test split holds 1 users without a label",
        ),
        (
            lambda: FewLabelSplit(1, 1).draw(np.stack([LABELS, LABELS], axis=1), 0),
            r"one label a user: take split='random', or choose one label with label=0\.\.1",
        ),
        (lambda: recipe_of("half"), "split must be 'random', 'few', 'given' or a recipe"),
        (lambda: recipe_of("given"), "came without masks"),
        (lambda: check_seed(1.5), "seed must be an integer"),
        (lambda: check_seed(True), "seed must be an integer"),
    ],
)
def test_a_split_that_cannot_be_is_refused(draw, words):
    with pytest.raises(InputError, match=words):
        draw()


def test_recipes_by_name_or_by_a_split():
    given_masks = GivenSplit(mask(0), mask(1), mask(2))
    assert recipe_of("random") == RandomSplit(0.5, 0.25)
    assert recipe_of("few") == FewLabelSplit(20, 500)
    assert recipe_of("given", given_masks) is given_masks
    assert recipe_of(RandomSplit(0.1, 0.1)) == RandomSplit(0.1, 0.1)
    recipe = recipe_of(Split(mask(0, 1), mask(2), mask(3)))
    assert recipe.draw(np.array([0, 1, 1, 0]), 5).train.tolist() == mask(0, 1).tolist()


def test_a_random_split_of_several_labels_is_that_of_one_class_a_user():
    """It looks at who has a label and no further, so that there is nothing to stratify by."""
    rows = np.stack([LABELS, 1 - LABELS], axis=1)
    assert same(RandomSplit().draw(LABELS, 3), RandomSplit().draw(rows, 3))
