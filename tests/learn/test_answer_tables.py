"""What answers say: tables from judges whose class is known, or reported with noise."""

from __future__ import annotations

import numpy as np
import pytest

from graphveil.learn.class_answers import STRENGTH, ClassAnswers, JudgedAnswers, class_evidence


def asked_of(counts, least=0.01, certainty=None):
    """Users by (class, place), each so often; everybody's list is 0, 1, …, and everybody judges. And their classes."""
    counts = np.asarray(counts)
    classes, places = (
        np.repeat(each.ravel(), counts.ravel())
        for each in np.meshgrid(*map(np.arange, counts.shape), indexing="ij")
    )
    lists = np.tile(np.arange(counts.shape[1]), (len(classes), 1))
    sure = np.full(len(classes), 0.5) if certainty is None else certainty
    return ClassAnswers(np.arange(len(classes)), lists, places, sure, least), classes


def judged_of(classes, count, folds=None):
    everybody = np.arange(len(classes))
    return JudgedAnswers(everybody, np.eye(count)[classes], everybody % 2 if folds is None else folds)


def shrunk(counts):
    """The table that counts come to: the pooled one by a flat one, and then that of the only bin by the pooled one."""
    counts = np.asarray(counts, dtype=float)
    pooled = counts + STRENGTH / counts.shape[1]
    pooled /= pooled.sum(axis=1, keepdims=True)
    table = counts + STRENGTH * pooled
    return table / table.sum(axis=1, keepdims=True)


def odds(evidence):
    """How much an answer speaks for class 0 over class 1."""
    return evidence[:, 0] - evidence[:, 1]


COUNTS = [[90, 30], [40, 80]]


def test_where_classes_are_certain_tables_are_counts_but_for_a_prior():
    asked, classes = asked_of(COUNTS)
    folded, whole = class_evidence(asked, judged_of(classes, 2), 2)
    table = shrunk(COUNTS)
    expected = np.log(table[0] / table[1])[asked.places]
    np.testing.assert_allclose(odds(whole), expected, rtol=1e-12)
    # Evidence of each user is centred.
    for each in (*folded, whole):
        np.testing.assert_allclose(each.sum(axis=1), 0, atol=1e-12)


def test_what_judges_of_one_fold_are_judged_by_is_the_other_fold_s_table():
    asked, classes = asked_of(COUNTS)
    folds = np.zeros(len(classes), dtype=int)
    folds[::3] = 1
    folded, _ = class_evidence(asked, judged_of(classes, 2, folds), 2)
    for fold in (0, 1):
        others = folds != fold
        counts = np.zeros((2, 2))
        np.add.at(counts, (classes[others], asked.places[others]), 1)
        table = shrunk(counts)
        np.testing.assert_allclose(odds(folded[fold]), np.log(table[0] / table[1])[asked.places], rtol=1e-12)


@pytest.mark.parametrize(("judge", "other"), [(0, 0), (1, 1), (77, 77), (1, 0)])
def test_a_judge_s_own_label_changes_nothing_of_the_own_evidence_and_another_s_does(judge, other):
    asked, classes = asked_of(COUNTS)
    turned = classes.copy()
    turned[other] = 1 - turned[other]
    first, second = (
        class_evidence(asked, judged_of(each, 2), 2)[0][judge % 2][judge] for each in (classes, turned)
    )
    assert (first.tolist() == second.tolist()) == (judge == other)


def test_a_class_that_is_not_in_the_list_has_a_row_of_its_own():
    asked = ClassAnswers(np.arange(2), np.array([[2, 0], [1, 2]]), np.array([0, 1]), np.full(2, 0.5), 0.01)
    assert asked.ranks(4).tolist() == [[1, 2, 0, 2], [2, 0, 1, 2]]


def test_who_did_not_judge_gets_evidence_too_and_without_judges_nobody_does():
    asked, classes = asked_of(COUNTS)
    few = np.arange(0, len(classes), 5)
    judged = JudgedAnswers(few, np.eye(2)[classes[few]], np.arange(len(few)) % 2)
    _, whole = class_evidence(asked, judged, 2)
    same = asked.places == asked.places[0]
    assert np.ptp(odds(whole)[same]) == 0
    assert odds(whole)[same][0] != 0
    asked, _ = asked_of(COUNTS)
    nobody = JudgedAnswers(np.empty(0, dtype=np.int64), np.empty((0, 2)), np.empty(0, dtype=np.int64))
    folded, whole = class_evidence(asked, nobody, 2)
    assert not folded.any()
    assert not whole.any()


def test_a_table_is_recovered_from_labels_that_were_reported_with_noise():
    """4,000 judges, of each class half; a label is another one in 2 of 10. All counts are as expected, none is drawn."""
    table = np.array([[0.9, 0.1], [0.3, 0.7]])
    flips = np.array([[0.8, 0.2], [0.2, 0.8]])
    joint = np.einsum("cp,cl->lp", 2000 * table, flips)
    asked, labels = asked_of(np.rint(joint).astype(int))
    everybody = np.arange(len(labels))
    judged = JudgedAnswers(everybody, 0.5 * flips[:, labels].T, everybody % 2)
    _, whole = class_evidence(asked, judged, 2)
    expected = np.log(table[0] / table[1])[asked.places]
    # Taken for certain, labels would give a half of that.
    naive = np.log(joint[0] / joint[1])[asked.places]
    assert (np.abs(naive) < 0.65 * np.abs(expected)).all()
    np.testing.assert_allclose(odds(whole), expected, rtol=0.2)


def test_no_answer_counts_for_more_than_the_channel_can_say_and_few_judges_share_one_table():
    """Everybody of a class gives one answer; yet the channel gives the other one a chance of a quarter."""
    asked, classes = asked_of([[100_000, 0], [0, 100_000]], least=0.25)
    _, whole = class_evidence(asked, judged_of(classes, 2), 2)
    assert np.abs(odds(whole)).max() <= np.log(4) + 1e-9
    asked, classes = asked_of(COUNTS, certainty=np.linspace(0.3, 0.9, 240))
    _, whole = class_evidence(asked, judged_of(classes, 2), 2)
    assert len(np.unique(odds(whole).round(9))) == 2


def test_bins_of_certainty_have_tables_of_their_own_where_judges_are_many():
    """The unsure answer truly, the sure at random: 2,000 judges in all."""
    telling, mute = [[450, 50], [50, 450]], [[250, 250], [250, 250]]
    first, classes = asked_of(telling)
    second, others = asked_of(mute)
    asked = ClassAnswers(
        np.arange(2000),
        np.concatenate([first.lists, second.lists]),
        np.concatenate([first.places, second.places]),
        np.repeat([0.4, 0.9], 1000),
        0.01,
    )
    _, whole = class_evidence(asked, judged_of(np.concatenate([classes, others]), 2), 2)
    unsure, sure = np.abs(odds(whole))[:1000], np.abs(odds(whole))[1000:]
    assert unsure.min() > 1.8
    assert sure.max() < 0.2


def test_answers_of_others_are_decoded_by_the_same_tables():
    """A worker decodes its own users by the answers of all who judge, who need not be its own."""
    random = np.random.default_rng(0)
    asked, classes = asked_of([[500, 150], [200, 400]], certainty=random.random(1250))
    folded, whole = class_evidence(asked, judged_of(classes, 2), 2)
    own = np.arange(0, 1250, 9)
    few = ClassAnswers(own, asked.lists[own], asked.places[own], asked.certainty[own], asked.least)
    found = class_evidence(few, judged_of(classes, 2), 2, asked)
    assert np.array_equal(found[0], folded[:, own]) and np.array_equal(found[1], whole[own])
    nobody = ClassAnswers(own[:0], asked.lists[:0], asked.places[:0], asked.certainty[:0], asked.least)
    assert class_evidence(nobody, judged_of(classes, 2), 2, asked)[1].shape == (0, 2)
