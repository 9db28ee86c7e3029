"""Experiments with methods, mechanisms, backbones and graphs from files."""

from dataclasses import replace

import pytest

import graphveil as gv
from graphveil.errors import InputError
from graphveil.experiments import Experiment, ResultStore, run_experiment
from graphveil.experiments import runner as runner_module
from graphveil.experiments.experiment import extension_digests
from graphveil.experiments.report import report_html
from graphveil.experiments.runner import RunOptions, StudyWatcher
from graphveil.experiments.tuning import SearchSpace, TuningTrial, add_trial, find_trials
from graphveil.methods.base import Base

pytestmark = pytest.mark.usefixtures("forget_outside")

CODE = """
import graphveil as gv
from graphveil.learn import MLP as Own
from graphveil.methods.base import Base

class Mine(Base):
    name = "mine"

def build(epsilon, dims, range, binary=False):
    return gv.mechanism("onebit", epsilon=epsilon, dims=dims, range=range, binary=binary)

def few(users=300):
    return gv.load("town", users=users, features=16, telling=4, labelled=0.2, validated=0.2)
"""
SMALL = {"users": 300, "features": 16, "telling": 4, "labelled": 0.2, "validated": 0.2}
EPOCHS = {"epochs": 3}


@pytest.fixture
def file(python_file):
    return python_file(CODE)


def whole(file, **options):
    """All four from the file."""
    names = {"mechanism": f"{file}:build", "backbone": f"{file}:Own"}
    return Experiment.of(f"{file}:Mine", f"{file}:few", epsilon=2.0, settings=EPOCHS, **names, **options)


def inside():
    """The same from the library."""
    return Experiment.of(
        "base", "town", epsilon=2.0, mechanism="onebit", backbone="mlp", settings=EPOCHS, data_options=SMALL
    )


def test_numbers_are_those_of_the_same_things_inside(file):
    theirs, ours = run_experiment(whole(file)), run_experiment(inside())
    for part in ("method", "control", "structure"):
        assert theirs.scores(part) == ours.scores(part)


def test_processes_of_their_own_load_the_same_file_and_refuse_one_that_changes_meanwhile(file):
    spec = whole(file, runs=2, control=False)
    jobs = RunOptions(jobs=2, keep=False)
    assert run_experiment(spec, jobs).scores() == run_experiment(spec).scores()
    spec.check()
    file.write_text(CODE + "\n")
    with pytest.raises(InputError, match="was changed while an experiment was running"):
        run_experiment(spec, jobs)


def test_kept_runs_are_found_as_long_as_the_file_is_the_same(file, tmp_path, monkeypatch):
    store = ResultStore(tmp_path / "runs.jsonl")
    run_experiment(whole(file), RunOptions(file=store.file, fresh=True))
    monkeypatch.setattr(runner_module, "compute_unit", lambda *_: pytest.fail("ran again"))
    run_experiment(whole(file), RunOptions(file=store.file))
    file.write_text(CODE + "# another\n")
    assert store.find_units(whole(file), ["method", "control", "structure"]) == []


def test_a_file_that_changes_meanwhile_changes_nothing_and_is_not_what_runs_are_kept_under(file, tmp_path):
    store = ResultStore(tmp_path / "runs.jsonl")
    spec = whole(file, runs=2, control=False)
    mine = "class Mine(Base):"
    wrong = CODE.replace(mine, f"{mine}\n    def learn(self, job):\n        return None\n")
    watcher = StudyWatcher()
    watcher.add = lambda *_: file.write_text(wrong)
    result = run_experiment(spec, RunOptions(file=store.file), watcher)
    assert len(result.scores()) == 2
    file.write_text(CODE)
    assert len(store.find_units(whole(file, runs=2, control=False), ["method"])) == 2


def test_a_report_of_stored_results_runs_no_file(file):
    result = run_experiment(inside())
    named = replace(result.experiment, method=f"{file}:Mine")
    stored = result.model_copy(update={"experiment": named, "method": named.method})
    file.write_text("raise AssertionError('it was run')")
    assert f"{file}:Mine" in report_html([stored], energy=False)


def test_what_the_structure_gives_depends_on_the_data_alone(file):
    def key():
        return Experiment.of(f"{file}:Mine", "town", epsilon=2.0).key("structure", 0)

    before = key()
    file.write_text(CODE + "# another\n")
    assert key() == before == Experiment.of("base", "town", epsilon=1.0).key("structure", 0)


def test_every_field_from_outside_is_part_of_the_key_and_nothing_else(file):
    assert set(extension_digests(whole(file))) == {"method", "mechanism", "backbone"}
    assert extension_digests(inside()) == {}
    assert "outside" not in Experiment.of("base", "town", epsilon=2.0).key("method", 0)


def test_trials_of_a_search_are_kept_by_the_file_s_content(file, tmp_path):
    store = ResultStore(tmp_path / "a.sqlite")
    space = SearchSpace.of(whole(file))
    add_trial(store, whole(file), space, TuningTrial(space.defaults, "accuracy", (0.5,), (1.0,)))

    def kept():
        return len(find_trials(store, whole(file), SearchSpace.of(whole(file))))

    assert kept() == 1
    file.write_text(CODE + "# another\n")
    assert kept() == 0


def test_the_record_says_whose_the_claim_is(file):
    told = run_experiment(whole(file, control=False)).to_dict()["privacy"]
    assert told["outside"] == [f"{file}:build"]
    ours = run_experiment(Experiment.of("base", f"{file}:few", epsilon=2.0, settings=EPOCHS))
    assert "outside" not in ours.to_dict()["privacy"]


def test_a_mechanism_that_a_method_s_file_registers_is_its_author_s_too(file):
    file.write_text(
        CODE.replace('name = "mine"', 'name, mechanism = "mine", "bits-of-a-test"')
        + "\ngv.register('bits-of-a-test')(build)\n"
    )
    result = run_experiment(
        Experiment.of(f"{file}:Mine", f"{file}:few", epsilon=2.0, settings=EPOCHS, control=False)
    )
    assert result.to_dict()["privacy"]["outside"] == [f"{file}:bits-of-a-test"]


def test_a_sweep_may_name_files(file, sweep):
    asked = sweep(
        f'[base]\nmethod = "{file}:Mine"\ndata = "town"\nepsilon = 1.0\n'
        f'[[axes]]\nfield = "mechanism"\nvalues = ["multibit", "{file}:build"]\n'
    )
    names = [cell.experiment.budgets.mechanism for cell in asked.cells]
    assert names == ["multibit", f"{file}:build"]


class Own(Base):
    name = "own-of-a-test"


@pytest.mark.parametrize("method", [Own, Own()])
def test_a_method_may_be_given_as_an_object(method):
    result = gv.run(method, "town", epsilon=2.0, settings=EPOCHS, data_options=SMALL, control=False)
    same = gv.run("base", "town", epsilon=2.0, settings=EPOCHS, data_options=SMALL, control=False)
    assert result.scores() == same.scores() and result.method == "own-of-a-test"


def test_an_object_runs_in_this_process_alone():
    for options in ({"jobs": 2}, {"keep": True}):
        with pytest.raises(InputError, match="runs in this process alone"):
            gv.run(Own(), "town", epsilon=2.0, **options)


def test_no_embedding_of_classes_comes_from_a_module_without_a_known_hidden_layer(file, tmp_path):
    layers = tmp_path / "layers.py"
    layers.write_text(
        "import torch\n\nclass Flat(torch.nn.Linear):\n"
        "    def __init__(self, inputs, hidden, outputs):\n        super().__init__(inputs, outputs)\n"
        "    def forward(self, x, edge_index):\n        return super().forward(x)\n"
    )
    options = {"epsilon": 2.0, "backbone": f"{layers}:Flat", "settings": EPOCHS}
    said = "base has no embedding for the task node: .* or gcn for .*layers.py:Flat"
    with pytest.raises(InputError, match=said):
        gv.embed("base", f"{file}:few", **options)
    assert gv.embed("base", f"{file}:few", task="link", **options).shape == (300, 64)
