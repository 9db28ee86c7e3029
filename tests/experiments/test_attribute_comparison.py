import json
from dataclasses import replace

import numpy as np
import pytest

from graphveil.experiments.attribute_study import compare_rankings
from graphveil.experiments.experiment import Experiment
from graphveil.graphs import load
from graphveil.learn.attributes import chance_of_sharing
from graphveil.statistics import t_interval

SMALL = {"data.users": 400, "data.features": 64, "data.labelled": 0.3, "data.validated": 0.2}
TOWN = Experiment.of("togl", "town", epsilon=40.0, runs=3, settings={**SMALL, "data.neighbourhood": 25})


@pytest.fixture(scope="module")
def found():
    return compare_rankings(TOWN, top=8)


@pytest.fixture(scope="module")
def telling():
    _, users = load("town", users=400, neighbourhood=25)
    rates = np.array([users.raw.features[users.raw.labels == kind].mean(0) for kind in range(4)])
    best = np.argsort(-(rates.max(0) - rates.min(0)))[:8]
    return set(best.tolist())


def test_attributes_that_tell_are_found_at_a_large_budget(found, telling):
    assert set(found.reference.order[:8].tolist()) == telling
    assert set(found.ranking.order[:8].tolist()) == telling
    assert found.agreement["share"] > 0.8
    assert found.agreement["probability"] < 1e-6
    assert found.headline.endswith("reports at ε = 40 say which attributes matter")
    assert found.stability["jaccard"] > 5 * found.stability["chance"]
    assert found.stability["without_privacy"] == found.reference.jaccard


def test_the_control_finds_no_more_than_chance(found):
    shared = int(found.control.shared(found.reference).sum())
    assert chance_of_sharing(64, 8, 3, shared) > 0.01
    assert found.agreement["control"] == shared / 24
    assert found.stability["control"] < 0.25
    said = "at ε = 40 nothing measurable is learned of which attributes matter (3 runs are few)"
    assert said in replace(found, ranking=found.control).headline


def test_a_weak_agreement_is_not_called_more(found):
    strangers = [each for each in range(64) if each not in set(found.reference.order[:8].tolist())]
    scores = np.zeros_like(found.ranking.scores)
    for run, best in enumerate(found.reference.tops):
        scores[run, [*best[:3], *strangers[:5]]] = 1.0
    weak = replace(found, ranking=replace(found.ranking, scores=scores))
    assert weak.headline.startswith("the top 8 agree with the ranking without privacy in 3.0 of 8")
    assert weak.headline.endswith("say some of which attributes matter")


def test_scores_are_compared_with_those_of_attributes_that_say_nothing(found):
    relative = found.relative(found.ranking)
    assert relative == pytest.approx((found.ranking.scores / found.null[:, None]).mean(0))
    assert 0.5 < found.relative(found.control).mean() < 2
    assert replace(found, null=np.zeros(3)).relative(found.ranking) is None


def test_all_of_it_is_one_object(found):
    told = json.loads(json.dumps(found.to_dict()))
    attributes = [each["attribute"] for each in told["attributes"]]
    assert attributes[:20] == found.ranking.order[:20].tolist()
    assert set(np.concatenate(found.ranking.tops).tolist()) <= set(attributes)
    assert told["fairness"]["all"] == pytest.approx(np.abs(found.ranking.correlations).mean())
    assert told["privacy"]["total"] == {"epsilon": 40.0, "delta": 0.0}
    assert told["control_best"]["score"] == found.control.mean.max()


def test_private_labels_do_not_change_what_is_compared_with():
    spec = TOWN.having(runs=1)
    public, private = (compare_rankings(spec.having(label_epsilon=each)) for each in (None, 0.5))
    assert np.array_equal(public.reference.scores, private.reference.scores)
    assert not np.array_equal(public.ranking.scores, private.ranking.scores)
    assert private.stability["jaccard"] is None and private.stability["control"] is None


def test_attributes_of_links_are_ranked():
    spec = TOWN.having(task="link", epsilon=4.0, runs=1, settings={**TOWN.settings, "data.features": 16})
    linked = compare_rankings(spec, top=4)
    assert linked.ranking.scores.shape == (1, 16)
    assert linked.to_dict()["task"] == "link"


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<svg")])
def test_the_same_ranking_gives_the_same_figure(found, name, start, tmp_path):
    named = replace(found, names=tuple(f"an interest with a long name $_{each}" for each in range(64)))
    files = []
    for _ in range(2):
        named.write(tmp_path / name)
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1] and files[0].startswith(start)
    found.write(tmp_path / name)
    assert (tmp_path / name).read_bytes() != files[0]


def test_a_bar_has_the_interval_of_its_mean_over_runs(found):
    axes = found.drawing().axes[0]
    first = int(found.ranking.order[0])
    summary = t_interval(found.ranking.scores[:, first].tolist())
    segments = [segment for each in axes.collections for segment in each.get_segments()]
    spans = [(segment[0][0], segment[1][0]) for segment in segments if segment[0][1] == 0]
    assert spans == [(pytest.approx(summary.low), pytest.approx(summary.high))]
