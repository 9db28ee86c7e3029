import json
import tomllib

from graphveil import __version__
from graphveil.experiments import Experiment, TuningResult, write_settings
from graphveil.experiments.experiment_file import read_settings
from graphveil.experiments.tuning import SearchSpace, TuningTrial
from tests.refusals import check_refused

WRITTEN = [
    ("a.toml", 'lr = 0.1\npatience = "none"\ndata.users = 200\n'),
    ("a.toml", '[settings]\nlr = 0.1\npatience = "none"\n[settings.data]\nusers = 200\n'),
    ("a.json", '{"lr": 0.1, "patience": null, "data.users": 200}'),
    ("a.json", '{"tuned": {}, "settings": {"lr": 0.1, "patience": null, "data": {"users": 200}}}'),
]


def test_files_by_hand_are_read(tmp_path):
    found = []
    for name, text in WRITTEN:
        (tmp_path / name).write_text(text)
        found.append(read_settings(tmp_path / name, "base"))
    assert found == [{"lr": 0.1, "patience": None, "data.users": 200}] * len(WRITTEN)


TUNED = '[tuned]\nmethod = "upgnet"\n[settings]\nlr = 1'
WRONG = [
    ("a.toml", TUNED, "was tuned for upgnet, not for base: tune base"),
    ("a.toml", "lr = ", "is not TOML"),
    ("a.json", "{", "is not JSON"),
    ("a.json", "[1]", "must hold an object of settings"),
    ("a.toml", "settings = 1", "must be tables"),
    ("a.toml", "epochs = 2\n[settings]\nlr = 1", "has 'epochs' beside"),
]


def test_what_is_wrong_with_a_file_is_said(tmp_path):
    def read(name, text):
        (tmp_path / name).write_text(text)
        return read_settings(tmp_path / name, "base")

    check_refused(read, WRONG)
    check_refused(read, [(name, text, str(tmp_path / name)) for name, text, _ in WRONG])


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path):
    (tmp_path / "a.toml").write_bytes(b"\xff\xfe")
    wrong = [("nowhere.toml", "cannot be read"), ("", "cannot be read"), ("a.toml", "is not UTF-8 text")]
    check_refused(lambda name: read_settings(tmp_path / name, "base"), wrong)


# What a search writes.

SPEC = Experiment.of(
    "base", "town", epsilon=4.0, runs=2, settings={"epochs": 2, "data.users": 200, "patience": None}
)
DEFAULTS = {"lr": 0.01, "activation": "selu"}
BEST = {"lr": 1e-05, "activation": 'a "ü" \\ text'}
SPACE = SearchSpace({"lr": (1e-05, 0.01), "activation": (BEST["activation"], "selu")}, DEFAULTS)
DEFAULT_TRIAL = TuningTrial(DEFAULTS, "accuracy", (0.5, 0.6), (1.0, 1.0))
BEST_TRIAL = TuningTrial(BEST, "accuracy", (0.7, 0.8), (1.0, 1.0))


def tuned(*trials, spec=SPEC):
    return TuningResult(spec, SPACE, tuple(trials), 4)


def test_what_is_written_is_read_and_its_header_says_how_it_was_found(tmp_path):
    file = tmp_path / "best.toml"
    write_settings(tuned(DEFAULT_TRIAL, BEST_TRIAL), file)
    assert read_settings(file, "base") == {**SPEC.settings, **BEST}
    about = {"method": "base", "data": "town", "epsilon": 4.0, "mechanism": "multibit", "backbone": "gcn"}
    about |= {"seed": 0, "runs": 2, "trials": 2, "metric": "accuracy", "version": __version__}
    about |= {"validation": 0.75, "validation_of_defaults": 0.55}
    assert tomllib.loads(file.read_text())["tuned"] == about
    # What does not apply is left out.
    write_settings(tuned(BEST_TRIAL, spec=Experiment.of("nonprivate", "town")), file)
    header = tomllib.loads(file.read_text())["tuned"]
    assert not {"epsilon", "mechanism", "validation_of_defaults"} & set(header)


def test_json_of_a_result_is_json():
    fields = json.loads(json.dumps(tuned(BEST_TRIAL).to_dict()))
    assert fields["defaults"]["validation"] is None
    assert fields["validation"] == {"runs": [0.7, 0.8], "mean": 0.75}
