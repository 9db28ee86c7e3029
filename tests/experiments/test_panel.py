"""Runs with volunteers: who sees their rows, what is told of them, and what is kept."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import graphveil as gv
from graphveil.errors import InputError, PrivacyError
from graphveil.experiments import Experiment, ResultStore
from graphveil.experiments.runner import RunOptions, run_experiment
from graphveil.experiments.unit import RunUnit, open_unit, parts_of, run_unit
from graphveil.graphs.load import load
from graphveil.methods import Method, feature_plan
from graphveil.privacy.record import PanelGiven
from tests.refusals import check_refused

pytestmark = pytest.mark.usefixtures("forget_outside")

METHOD = f"{Path(__file__).parents[1] / 'volunteering.py'}:Volunteering"
SMALL = {"users": 240, "features": 16, "telling": 4, "kinds": 2, "neighbourhood": 20, "degree": 8.0}
SMALL |= {"labelled": 0.3, "validated": 0.2}


def experiment_of(method=METHOD, **options):
    given = {"epsilon": 4.0, "panel": 20, "data_options": SMALL, **options}
    return Experiment.of(method, "town", **given)


def ready_of(part="method", run=0, given=None, **options):
    return open_unit(RunUnit(experiment_of(**options), part, run, given=given))


def marked():
    """The same town, a tenth of whose users are volunteers, whoever trains."""
    graph, users = load("town", **SMALL)
    who, raw = np.arange(len(users)) % 10 == 0, users.raw
    return gv.from_arrays(
        graph.pairs(), raw.features, raw.labels, range=(0, 1), panel=who, split=graph.recipe
    )


@pytest.mark.parametrize("part", ["method", "control", "unasked"])
def test_method_and_control_get_the_same_volunteers(part):
    panel, own = ready_of(part).job.graph.panel, ready_of()
    raw = own.users.raw.features
    assert np.array_equal(panel.users, own.job.graph.panel.users)
    assert own.graph.train[panel.users].all()
    assert np.array_equal(panel.rows, raw[panel.users]) and panel.rows.shape == (20, 16)


def test_every_run_draws_its_own_volunteers_and_neither_a_split_nor_silence_of_its_own():
    runs = [ready_of(run=run).job.graph.panel.users.tolist() for run in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]
    without, own = (ready_of(panel=panel, participation=0.5) for panel in (None, 20))
    assert np.array_equal(own.graph.train, without.graph.train) and np.array_equal(own.who, without.who)


def test_structure_sees_no_volunteers_nor_does_who_uses_none():
    assert ready_of("structure").job.graph.panel is None
    assert ready_of("structure", panel=None, given=marked()).job.graph.panel is None
    ready = ready_of(panel=None, given=marked(), settings={"use": False})
    assert ready.job.graph.panel is None and ready.privacy().panel is None


def test_methods_that_take_none_see_no_volunteers_of_the_data():
    seen = []

    class Looking(Method):
        name = "looking"
        summary = "looks for volunteers"

        def questions(self, job):
            seen.append(job.graph.panel)
            return super().questions(job)

        def learn(self, job):
            seen.append(job.graph.panel)
            raise InputError("it has looked")

    with pytest.raises(InputError, match="it has looked"):
        gv.run(Looking, *marked(), epsilon=1.0)
    assert seen == [None, None]


def test_volunteers_of_the_data_are_taken_where_none_are_drawn():
    graph, users = marked()
    panel = ready_of(panel=None, given=(graph, users)).job.graph.panel
    assert panel.users.tolist() == list(range(0, 240, 10))
    with pytest.raises(InputError, match="has 24 volunteers of its own"):
        ready_of(given=(graph, users))
    given = (graph, users.with_levels(np.ones(240, dtype=int)))
    with pytest.raises(InputError, match="a row may tell a user's privacy level"):
        ready_of(panel=None, given=given)


NO_PANELS = [
    ({"method": "base"}, "base does not learn from volunteers' raw features, so panel has no meaning for it"),
    ({"method": "base"}, re.compile("take one of .*volunteering")),
    ({"panel": 0}, "panel must be an integer of at least 1, got 0"),
    ({"settings": {"use": False}}, "uses no volunteers with these settings"),
    ({"method": "structure", "epsilon": None}, "structure does not learn from volunteers"),
]


def test_a_panel_that_cannot_be_is_refused_before_anything_is_loaded():
    experiment_of().check()
    check_refused(lambda options: experiment_of(**options).check(), NO_PANELS)


def test_labels_of_volunteers_stay_private():
    ready = ready_of(label_epsilon=2.0)
    assert (ready.job.graph.labels == -1).all()
    assert set(ready.job.graph.panel.users) <= set(ready.job.questions.labels.users)


def test_nobody_answers_about_features_where_only_volunteers_count_but_private_labels_are_reported():
    ready = ready_of("unasked")
    assert ready.job.unasked and not ready.job.questions.claims
    with pytest.raises(PrivacyError, match=r"must not ask where job\.unasked is True"):
        ready.job.users.report(feature_plan(ready.job))
    assert ready.ledger.spent.max() == 0
    ready = ready_of("unasked", label_epsilon=2.0)
    ready.method.run(ready.job)
    privacy = ready.privacy()
    assert privacy.labels.epsilon == 2.0 and privacy.features is None


def test_the_record_tells_of_volunteers_in_every_part_that_has_them():
    parts = ("method", "control", "unasked", "structure")
    told = {part: run_unit(RunUnit(experiment_of(), part)).privacy for part in parts}
    panels = [each.panel for each in told.values()]
    assert panels == [*[PanelGiven(users=20)] * 3, None]
    assert told["method"].sentence == (
        "20 volunteers gave their raw features; everybody else reported features at ε = 4; the server needs no trust "
        "but the volunteers'."
    )
    assert told["method"].cell == "20 volunteers raw; features ε = 4; local"
    assert told["method"].trust == "local"
    assert told["unasked"].sentence == (
        "20 volunteers gave their raw features; nobody else reported anything private to this method's server."
    )
    assert told["unasked"].cell == "20 volunteers raw; nothing reported"


def spent_by(ready):
    ready.method.run(ready.job)
    return ready.ledger.spent


def test_volunteers_pay_nothing_for_the_rows_that_they_give_but_like_everybody_where_they_are_asked():
    ready = ready_of()
    spent = spent_by(ready)
    volunteers = ready.job.graph.panel.users
    assert (spent[volunteers] == 0).all()
    assert (np.delete(spent, volunteers) == 4.0).all()
    ready = ready_of(settings={"ask_all": True})
    assert (spent_by(ready) == 4.0).all()
    assert ready.privacy().panel == PanelGiven(users=20, asked=20)
    all_asked = "20 volunteers gave their raw features; every user reported features at ε = 4;"
    assert ready.privacy().sentence.startswith(all_asked)


def test_only_runs_with_volunteers_have_a_part_without_asking(tmp_path):
    three = ["method", "control", "structure"]
    assert parts_of(experiment_of()) == [*three, "unasked"]
    assert parts_of(experiment_of(panel=None)) == three
    assert parts_of(experiment_of(panel=None), marked())[-1] == "unasked"
    assert parts_of(experiment_of(control=False)) == ["method"]
    # Units are counted where a graph cannot be loaded.
    assert parts_of(Experiment.of(METHOD, str(tmp_path / "none.npz"), epsilon=4.0)) == three


def test_a_result_with_volunteers_is_kept_and_read_back_and_an_embedding_tells_of_them(tmp_path):
    file = tmp_path / "results.sqlite"
    spec = experiment_of(runs=2)
    result = run_experiment(spec, RunOptions(file=file, fresh=True))
    fields = result.to_dict()
    gain = fields["gain_over_unasked"]
    assert gain["mean"] == pytest.approx(fields["mean"] - fields["unasked"]["mean"])
    assert "volunteers alone" in result.verdict
    ResultStore(file).add(result)
    (record,) = ResultStore(file).results()
    assert record.experiment.volunteers.panel == 20
    assert record.privacy.panel.users == record.privacy.volunteers == 20
    assert record.unasked.mean == fields["unasked"]["mean"]
    assert record.gain_over_unasked.mean == gain["mean"]
    again = run_experiment(spec, RunOptions(file=file))
    assert again.scores("unasked") == result.scores("unasked")
    embedding = gv.embed(METHOD, "town", epsilon=4.0, panel=20, data_options=SMALL)
    assert embedding.statement.startswith("20 volunteers gave their raw features; everybody else reported")
    assert embedding.privacy.panel == PanelGiven(users=20)


def test_another_number_of_volunteers_is_another_unit_but_not_for_structure():
    some, others = experiment_of(), experiment_of(panel=21)
    assert all(some.key(part, 0) != others.key(part, 0) for part in ("method", "control", "unasked"))
    assert some.key("structure", 0) == others.key("structure", 0)


def test_a_changed_panel_of_a_file_is_another_input(tmp_path):
    from graphveil.experiments.experiment import input_digest
    from graphveil.graphs.npz import Raw, write_npz

    graph, users = marked()
    raw = Raw(graph.pairs(), users.raw.labels, users.raw.features, range=(0, 1))
    digests = []
    for place in (3, 4):
        file = tmp_path / f"{place}" / "club.npz"
        file.parent.mkdir()
        write_npz(file, replace(raw, panel=np.arange(240) == place))
        digests.append(input_digest(Experiment.of(METHOD, str(file), epsilon=4.0)))
    assert digests[0] != digests[1]
