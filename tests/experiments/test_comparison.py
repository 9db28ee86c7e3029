"""Results compared over seeds: the numbers, what is corrected, and what cannot be paired."""

import math
import re

import pytest

from graphveil.experiments.comparison import compare
from graphveil.experiments.result import StoredResult
from tests.refusals import check_refused

# 95% of Student's t with 3 degrees of freedom lie within this.
T3 = 3.182446305284263


def kept(number, runs, spec=None, **fields):
    told = {"method": "base", "data": "town", "data_digest": "d", "version": "1", **fields}
    told |= {"number": number, "runs": runs, "mean": sum(runs) / len(runs), "spec": spec or {}}
    return StoredResult.model_validate(told)


def test_a_difference_has_its_mean_and_interval():
    comparison = compare([kept(1, [0.5, 0.6, 0.7, 0.8]), kept(2, [0.4, 0.6, 0.6, 0.6])])
    (pair,) = comparison.pairs
    # Differences 0.1, 0, 0.1, 0.2: mean 0.1, variance 0.02 / 3.
    half = T3 * math.sqrt(0.02 / 3) / 2
    assert pair.difference.mean == pytest.approx(0.1, abs=1e-12)
    assert pair.difference.low == pytest.approx(0.1 - half, abs=1e-9)
    assert pair.difference.high == pytest.approx(0.1 + half, abs=1e-9)
    assert pair.seeds == (0, 1, 2, 3)
    # Two results are one comparison without correction.
    assert pair.corrected is None
    assert "p after Holm" not in comparison.table().head
    assert not any("Holm" in sentence for sentence in comparison.sentences)


def test_p_of_two_pairs_is_that_of_a_cauchy_variable():
    (pair,) = compare([kept(1, [0.6, 0.8]), kept(2, [0.5, 0.5])]).pairs
    # Differences 0.1 and 0.3: t = 0.2 / 0.1 with one degree of freedom, whose distribution function is an arctangent.
    assert pair.p == pytest.approx(1 - 2 * math.atan(2) / math.pi, abs=1e-9)


def test_p_is_5_percent_where_the_interval_ends_at_0():
    # Differences of mean m and standard error m / T3.
    spread = 0.1 / T3 * 2
    differences = [0.1 + spread * sign * math.sqrt(3 / 4) for sign in (1, -1, 1, -1)]
    (pair,) = compare([kept(1, differences), kept(2, [0.0] * 4)]).pairs
    assert pair.p == pytest.approx(0.05, abs=1e-9)
    assert pair.difference.low == pytest.approx(0, abs=1e-9)


def test_seeds_are_paired_by_what_they_are_and_not_by_their_place():
    first = kept(1, [0.1, 0.2, 0.3], seed=5)
    second = kept(2, [0.2, 0.3, 0.4], seeds=(6, 7, 9))
    (pair,) = compare([first, second]).pairs
    assert pair.seeds == (6, 7)
    assert pair.difference.mean == pytest.approx(0.0, abs=1e-12)
    assert pair.notes == ("1 (base) and 2 (base): 2 seeds that only one of them has are left out.",)


def test_more_results_are_compared_each_with_each_and_corrected_in_words():
    runs = ([0.5, 0.6, 0.7], [0.4, 0.55, 0.6], [0.1, 0.2, 0.35])
    comparison = compare([kept(number, each) for number, each in enumerate(runs, 1)])
    assert [(pair.first.number, pair.second.number) for pair in comparison.pairs] == [(1, 2), (1, 3), (2, 3)]
    by_size = sorted(comparison.pairs, key=lambda pair: pair.p)
    expected, before = [], 0.0
    for factor, pair in zip((3, 2, 1), by_size, strict=True):
        before = max(before, min(1.0, factor * pair.p))
        expected.append(before)
    assert [pair.corrected for pair in by_size] == pytest.approx(expected, abs=1e-12)
    assert any("There are 3 comparisons" in said and "Holm" in said for said in comparison.sentences)


def test_the_words_rest_on_what_is_corrected():
    # p of the first pair is 0.03, and three times that is no longer below 5%.
    t = 1 / math.tan(0.03 * math.pi / 2)
    runs = ([0.1 * (1 + 1 / t), 0.1 * (1 - 1 / t)], [0.0, 0.0], [0.05, -0.15])
    alone, *_ = compare([kept(1, runs[0]), kept(2, runs[1])]).pairs
    assert alone.p == pytest.approx(0.03, abs=1e-9)
    assert alone.words == "10.0 ± 6.0 points above"
    pair, *_ = compare([kept(number, each) for number, each in enumerate(runs, 1)]).pairs
    assert pair.words == "no measurable difference"


def test_differences_that_are_all_the_same_leave_nothing_to_chance():
    same, shifted = kept(2, [0.5, 0.75]), kept(3, [0.25, 0.5])
    assert compare([kept(1, [0.5, 0.75]), same]).pairs[0].p == 1.0
    (pair,) = compare([same, shifted]).pairs
    assert (pair.p, pair.words) == (0.0, "25.0 ± 0.0 points above")


def test_a_p_value_that_rests_on_no_spread_is_told():
    def told(*runs):
        return " ".join(compare([kept(1, [0.5, 0.7, 0.9]), kept(2, list(runs))]).pairs[0].notes)

    # Differences of 0.1 but for rounding.
    assert "1 (base) and 2 (base): every seed has the same difference" in told(0.4, 0.6, 0.8)
    assert told(0.4, 0.6, 0.7) == told(0.5, 0.7, 0.9) == ""


def test_results_of_two_sources_with_one_version_are_told():
    first = kept(1, [0.5, 0.6], source="aa" * 32)
    second = kept(2, [0.4, 0.6], source="bb" * 32)
    (note,) = compare([first, second]).pairs[0].notes
    assert "by graphveil 1, source aaaaaaaaaaaa, 2 (base) by graphveil 1, source bbbbbbbbbbbb" in note
    assert not compare([first, second.model_copy(update={"source": first.source})]).pairs[0].notes


NO_PAIRS = [
    ({"data": "cora"}, "has the graph town, .* cora: pair results of one graph"),
    ({"task": "link"}, "pair results of one task"),
    ({"metric": "f1"}, "pair results of one metric"),
    ({"data_digest": "e"}, "town changed between 1 .* and 2 .*: run the older one again"),
    ({"spec": {"data_options": {"split": "few"}}}, "only results of the same graph with the same split"),
    ({"spec": {"settings": {"data.split": "few"}}}, 'with no options and .* with {"split": "few"}'),
    ({"seed": 2}, "has the seeds 0, 1 and .* the seeds 2, 3: a pair needs at least 2 seeds that both have"),
    ({"seed": 1}, "a pair needs at least 2 seeds"),
    ({"interrupted": True}, "was interrupted and does not say its seeds"),
]


def test_what_cannot_be_paired_is_refused_with_a_sentence():
    def compared(fields):
        return compare([kept(1, [0.5, 0.6]), kept(2, [0.4, 0.6], **fields)])

    check_refused(compared, [(fields, re.compile(words)) for fields, words in NO_PAIRS])
    one = kept(1, [0.5, 0.6])
    check_refused(compare, [([one], "at least 2 results, got 1"), ([one, one], "result 1 is named twice")])
    # Options are the same wherever they were given.
    first = kept(1, [0.5, 0.6], spec={"data_options": {"users": 200}})
    second = kept(2, [0.5, 0.7], spec={"settings": {"data.users": 200, "epochs": 3}})
    assert len(compare([first, second]).pairs) == 1


def test_what_is_not_sure_about_a_pair_is_told():
    for fields, words in (
        ({"data_digest": ""}, "nobody knows whether town was the same"),
        ({"version": "2"}, "1 (base) was computed by graphveil 1, 2 (base) by graphveil 2"),
    ):
        comparison = compare([kept(1, [0.5, 0.6]), kept(2, [0.4, 0.6], **fields)])
        assert any(words in sentence for sentence in comparison.sentences)


def test_what_is_not_sure_about_several_pairs_is_told_once():
    later = {"data_digest": "", "version": "2"}
    comparison = compare(
        [kept(1, [0.5, 0.6], data_digest=""), kept(2, [0.4, 0.6], **later), kept(3, [0.3, 0.6], **later)]
    )
    *_, digest, origin = comparison.sentences
    assert digest == "All pairs: nobody knows whether town was the same, since results did not say so before."
    assert origin == (
        "Results were computed by several versions, and a difference may be theirs: 1 (base) by graphveil 1, 2 (base) and 3 (base) by "
        "graphveil 2."
    )
    assert [len(pair.notes) for pair in comparison.pairs] == [2, 2, 1]


def test_what_is_not_sure_about_some_pairs_names_them():
    results = [kept(1, [0.5, 0.6, 0.9]), kept(2, [0.4, 0.6, 0.7]), kept(3, [0.3, 0.6])]
    assert compare(results).sentences[-1] == (
        "1 (base) and 3 (base), 2 (base) and 3 (base): 1 seed that only one of them has is left out."
    )
