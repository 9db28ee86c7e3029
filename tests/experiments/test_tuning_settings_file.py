import json
import tomllib

from graphveil import __version__
from graphveil.experiments import Experiment, TuningResult, read_settings, write_settings
from graphveil.experiments.tuning import SearchSpace, TuningTrial

SPEC = Experiment.of(
    "base", "town", epsilon=4.0, runs=2, settings={"epochs": 2, "data.users": 200, "patience": None}
)
DEFAULTS = {"lr": 0.01, "activation": "selu"}
BEST = {"lr": 1e-05, "activation": 'a "ü" \\ text'}
SPACE = SearchSpace({"lr": (1e-05, 0.01), "activation": (BEST["activation"], "selu")}, DEFAULTS)


def tuned(*trials, spec=SPEC):
    return TuningResult(spec, SPACE, tuple(trials), 4)


DEFAULT_TRIAL = TuningTrial(DEFAULTS, "accuracy", (0.5, 0.6), (1.0, 1.0))
BEST_TRIAL = TuningTrial(BEST, "accuracy", (0.7, 0.8), (1.0, 1.0))


def test_what_is_written_is_read(tmp_path):
    file = tmp_path / "best.toml"
    write_settings(tuned(DEFAULT_TRIAL, BEST_TRIAL), file)
    assert read_settings(file, "base") == {**SPEC.settings, **BEST}


def test_the_header_says_how_the_settings_were_found(tmp_path):
    file = tmp_path / "best.toml"
    write_settings(tuned(DEFAULT_TRIAL, BEST_TRIAL), file)
    assert tomllib.loads(file.read_text())["tuned"] == {
        "method": "base",
        "data": "town",
        "epsilon": 4.0,
        "mechanism": "multibit",
        "backbone": "gcn",
        "seed": 0,
        "runs": 2,
        "trials": 2,
        "metric": "accuracy",
        "validation": 0.75,
        "validation_of_defaults": 0.55,
        "version": __version__,
    }


def test_what_does_not_apply_is_left_out(tmp_path):
    file = tmp_path / "best.toml"
    write_settings(tuned(BEST_TRIAL, spec=Experiment.of("nonprivate", "town")), file)
    header = tomllib.loads(file.read_text())["tuned"]
    assert not {"epsilon", "mechanism", "validation_of_defaults"} & set(header)


def test_json_of_a_result_is_json():
    fields = json.loads(json.dumps(tuned(BEST_TRIAL).to_dict()))
    assert fields["defaults"]["validation"] is None
    assert fields["validation"] == {"runs": [0.7, 0.8], "mean": 0.75}
