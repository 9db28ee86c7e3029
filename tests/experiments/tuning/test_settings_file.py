import json
import tomllib

import pytest

from graphveil import __version__
from graphveil.errors import InputError
from graphveil.experiments import Spec, Tuned, read_settings, write_settings
from graphveil.experiments.tuning.space import Space
from graphveil.experiments.tuning.trials import Trial

SPEC = Spec.of(
    "base", "town", epsilon=4.0, runs=2, settings={"epochs": 2, "data.users": 200, "patience": None}
)
DEFAULTS = {"lr": 0.01, "activation": "selu"}
BEST = {"lr": 1e-05, "activation": 'a "ü" \\ text'}
SPACE = Space({"lr": (1e-05, 0.01), "activation": (BEST["activation"], "selu")}, DEFAULTS)


def tuned(*trials, spec=SPEC):
    return Tuned(spec, SPACE, tuple(trials), 4)


DEFAULT_TRIAL = Trial(DEFAULTS, "accuracy", (0.5, 0.6), (1.0, 1.0))
BEST_TRIAL = Trial(BEST, "accuracy", (0.7, 0.8), (1.0, 1.0))


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
    write_settings(tuned(BEST_TRIAL, spec=Spec.of("nonprivate", "town")), file)
    header = tomllib.loads(file.read_text())["tuned"]
    assert not {"epsilon", "mechanism", "validation_of_defaults"} & set(header)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.toml", 'lr = 0.1\npatience = "none"\ndata.users = 200\n'),
        ("a.toml", '[settings]\nlr = 0.1\npatience = "none"\n[settings.data]\nusers = 200\n'),
        ("a.json", '{"lr": 0.1, "patience": null, "data.users": 200}'),
        ("a.json", '{"tuned": {}, "settings": {"lr": 0.1, "patience": null, "data": {"users": 200}}}'),
    ],
)
def test_files_by_hand_are_read(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    assert read_settings(tmp_path / name, "base") == {"lr": 0.1, "patience": None, "data.users": 200}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (
            "a.toml",
            '[tuned]\nmethod = "upgnet"\n[settings]\nlr = 1',
            "was tuned for upgnet, not for base: tune base",
        ),
        ("a.toml", "lr = ", "is no TOML"),
        ("a.json", "{", "is no JSON"),
        ("a.json", "[1]", "must hold an object of settings"),
        ("a.toml", "settings = 1", "must be tables"),
        ("a.toml", "epochs = 2\n[settings]\nlr = 1", "has 'epochs' beside"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(name, text, words, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as error:
        read_settings(tmp_path / name, "base")
    assert words in str(error.value)
    assert str(tmp_path / name) in str(error.value)


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_settings(tmp_path / "nowhere.toml", "base")
    with pytest.raises(InputError, match="cannot be read"):
        read_settings(tmp_path, "base")
    (tmp_path / "a.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is no text"):
        read_settings(tmp_path / "a.toml", "base")


def test_json_of_a_result_is_json():
    fields = json.loads(json.dumps(tuned(BEST_TRIAL).to_dict()))
    assert fields["defaults"]["validation"] is None
    assert fields["validation"] == {"runs": [0.7, 0.8], "mean": 0.75}
