from graphveil.cli.options import default_file
from graphveil.experiments.experiment import Experiment


def test_searches_that_differ_in_levels_budgets_or_gamma_write_files_of_their_own():
    options = [
        {},
        {"levels": 3},
        {"levels": 4},
        {"budgets": (1.0, 2.0)},
        {"budgets": (1.0, 3.0)},
        {"gamma": 0.2},
        {"level_distribution": "strict"},
        {"norm_epsilon": 1.0},
    ]
    files = [str(default_file(Experiment.of("ppgnn", "town", epsilon=1.0, **each))) for each in options]
    assert len(set(files)) == len(options)
    assert files[0] == "ppgnn-town-eps1.toml"


def test_a_curve_is_called_after_all_its_budgets_and_what_else_is_not_as_usual():
    spec = Experiment.of("lpgnn", "folder/my.npz", epsilon=0.5, mechanism="piecewise", label_epsilon=2.0)
    assert str(default_file(spec, ".svg", (0.5, 1.0, 4.0))) == "lpgnn-my-eps0.5_1_4-piecewise-labels2.svg"
