import pytest

from graphveil.cli.studies import budget_study
from graphveil.experiments.experiment import Experiment
from tests.cli.support import town

CURVE = f"run base --data town --epsilon 0.5,2 --runs 2 --set epochs=3 {town(features=8)}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("curve")


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, folder):
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(folder))
    monkeypatch.chdir(folder)


def test_several_budgets_are_a_table_and_a_curve(call, folder):
    told = call(CURVE)
    lines = told.lines
    assert lines[0] == "base on town, multibit: accuracy, with 95% intervals"
    for title in ("ε", "base", "control", "structure", "gain over the control", "gain over structure"):
        assert title in lines[1]
    assert [line.split()[0] for line in lines[2:4]] == ["0.5", "2"]
    assert "features at ε = 0.5 add" in told.out and "features at ε = 2 add" in told.out
    assert lines[-1] == "The curve is in base-town-eps0.5_2.svg."
    assert (folder / "base-town-eps0.5_2.svg").read_text().startswith("<svg")


def test_each_budget_has_the_numbers_of_a_run_of_its_own(call, monkeypatch, folder):
    whole = call(CURVE, "--json --out own.png").json
    assert whole["figure"] == "own.png" and (folder / "own.png").stat().st_size > 1000
    # A run of one of the budgets finds what was computed for the curve.
    monkeypatch.setattr("graphveil.experiments.runner.compute_unit", lambda *_: pytest.fail("ran again"))
    alone = call(CURVE, "--epsilon 2 --json").json
    (cell,) = [cell for cell in whole["cells"] if cell["at"] == {"epsilon": 2.0}]
    for name in ("runs", "mean", "control", "structure", "gain", "privacy", "verdict"):
        assert cell[name] == alone[name]


def test_without_controls_there_is_no_gain(call):
    assert call(CURVE, "--no-control").lines[1].split() == ["ε", "base"]


def test_the_sweep_has_all_that_the_experiment_has():
    options = {"mechanism": "piecewise", "label_epsilon": 2.0, "participation": 0.7, "device": "cpu"}
    options |= {"settings": {"hops": 4, "data.users": 300}, "data_options": {"seed": 1}}
    spec = Experiment.of("lpgnn", "town", runs=3, seed=7, control=False, **options)
    cells = budget_study(spec, (0.5, 2.0)).cells
    assert [cell.experiment for cell in cells] == [spec.having(epsilon=0.5), spec.having(epsilon=2.0)]
