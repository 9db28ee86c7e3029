"""Runs in which some links are private and others public: what the server knows, what is asked, and what is kept."""

import numpy as np
import pytest

from graphveil.experiments import Experiment
from graphveil.experiments.experiment import input_digest
from graphveil.experiments.unit import RunUnit, open_unit, run_unit
from graphveil.methods.method import begin
from tests.refusals import check_refused

SMALL = {"users": 240, "features": 16, "telling": 4, "kinds": 2, "neighbourhood": 20, "degree": 8.0}
SMALL |= {"labelled": 0.3, "validated": 0.2}
QUICK = {"epochs": 2, "hidden": 8}


def experiment_of(method="heterorr", settings=None, **options):
    given = {"epsilon": 4.0, "link_epsilon": 2.0, **options}
    return Experiment.of(method, "town", data_options=SMALL, settings={**QUICK, **(settings or {})}, **given)


def ready_of(share=0.25, part="method", **settings):
    """A unit with a share of its links private."""
    return open_unit(RunUnit(experiment_of(settings={"private_edges": share, **settings}), part))


def ran(**options):
    return run_unit(RunUnit(experiment_of(**options)))


def codes(pairs):
    return {(int(one), int(two)) for one, two in pairs}


def test_the_server_knows_public_links_alone_and_the_plan_lists_them():
    ready = ready_of(tree_share=0.2)
    known, private = codes(ready.job.graph.pairs()), set(ready.job.links.users.tolist())
    assert known == {pair for pair in codes(ready.graph.pairs()) if not set(pair) <= private}
    plan = ready.job.questions.links
    assert plan.mechanism == "edgerr" and plan.options["tree_share"] == 0.2
    assert codes(np.array(plan.options["public"]).reshape(-1, 2)) == known
    # k of 240 users have a quarter of all pairs.
    assert len(plan.options["private_users"]) == 120


def test_public_links_stay_in_the_private_graph():
    heard = []
    unit = RunUnit(experiment_of(settings={"private_edges": 0.25}))
    ready = open_unit(unit, lambda what, share: heard.append(what))
    job, public = begin(ready.method, ready.job), codes(ready.job.graph.pairs())
    assert public <= codes(job.graph.pairs())
    assert job.links.numbers["links_public"] == len(public)
    # What is new lies among private users.
    private = set(ready.job.links.users.tolist())
    assert all({one, two} <= private for one, two in codes(job.graph.pairs()) - public)
    # The walk tells how far it is.
    assert {"a dendrogram of public links", "a dendrogram of private links"} <= set(heard)


@pytest.mark.parametrize("part", ["method", "control", "structure", "edgeless"])
def test_every_part_runs_on_the_same_public_links(part):
    assert codes(ready_of(part=part).job.graph.pairs()) == codes(ready_of().job.graph.pairs())
    found = run_unit(RunUnit(experiment_of(settings={"private_edges": 0.25}), part))
    assert 0 <= found.score <= 1
    assert (found.privacy.links is None) == (part == "edgeless")


def test_a_result_says_whom_to_trust_and_what_no_audit_covers():
    local = ran(link_epsilon=None).privacy
    curated = ran(settings={"private_edges": 0.25}).privacy
    assert (local.trust, curated.trust) == ("local", "curator")
    assert curated.links.epsilon == 2.0
    assert "The walk that finds a dendrogram" in curated.beyond_audit[0]
    assert [one.exact for one in curated.rounds if one.subject == "links"] == [None]
    assert "No audit covers this: the walk" in curated.sentence
    sure = ran(settings={"private_edges": 0.25, "tree_share": 0.0}).privacy
    assert "beyond_audit" not in sure.to_dict()


def test_with_public_links_left_hops_stay_where_nobody_is_asked_for_links():
    some, none = (ready_of(share, "edgeless").job.settings.hops for share in (0.25, 1.0))
    assert some > 0 and none == 0


def test_any_method_and_task_takes_some_links_as_private():
    assert (
        ran(method="base", settings={"link.private_edges": 0.25}, link_mechanism="edgerr").also[
            "links_public"
        ]
        > 0
    )
    found = ran(settings={"private_edges": 0.5}, task="link")
    assert 0 <= found.score <= 1 and found.also["links_public"] > 0


def test_the_suite_of_a_method_that_names_them_itself_passes_them_on():
    spec = experiment_of(settings={"tree_share": 0.1})
    assert spec.links.options == {"private_edges": 1.0, "tree_share": 0.1} and spec.links.private_edges == 1.0
    lapgraph = experiment_of(link_mechanism="lapgraph")
    assert lapgraph.links.options == {} and lapgraph.links.private_edges is None


NO_MEANING = [
    ({"private_edges": 0.1}, {"link_epsilon": None}, "private_edges has no meaning where links are public"),
    ({"tree_share": 0.1}, {"link_mechanism": "lapgraph"}, "tree_share has no meaning for lapgraph"),
    ({"private_edges": 0.1}, {"link_mechanism": "link-rr"}, "private_edges has no meaning for link-rr"),
    ({"private_edges": 0.0}, {}, "private_edges must be a number above 0"),
    ({"private_edges": "nowhere.txt"}, {}, "there is no file 'nowhere.txt'"),
    ({"tree_share": 1.0}, {}, "tree_share"),
    ({"private_edges": True}, {}, "private_edges"),
    ({"link.public": [0, 1]}, {}, "link.public follows from which links are private: give private_edges"),
    ({"link.private_users": [0, 1]}, {}, "link.private_users follows from"),
    ({"tree_share": 0.1, "link.tree_share": 0.2}, {}, "tree_share and link.tree_share are the same"),
]


def test_settings_without_meaning_are_refused_before_anything_is_loaded():
    def check(settings, options):
        experiment_of(settings=settings, **options).check()

    check_refused(check, NO_MEANING)


def test_other_pairs_in_the_file_are_another_experiment(tmp_path):
    file = tmp_path / "pairs.txt"
    file.write_text("0 1\n")
    spec = experiment_of(settings={"private_edges": str(file)})
    before = {part: input_digest(spec, part) for part in ("method", "structure")}
    file.write_text("0 2\n")
    assert all(input_digest(spec, part) != one for part, one in before.items())
