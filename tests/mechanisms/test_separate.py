from functools import partial

import numpy as np
import pytest

from graphveil.channels import SeededBits
from graphveil.mechanisms import Reports, mechanism
from graphveil.mechanisms.separate import Decoded, Separate, SeparateError, build_named

SETTINGS = {"epsilon": 1.0, "dims": 3, "range": (0, 1)}
ROWS = np.array([[0.0, 0.5, 1.0], [1.0, 0.0, 0.0]])
SAYING = """
import os, sys, logging
from dataclasses import replace
from graphveil.mechanisms import FeatureMechanism, Reports, mechanism

class Saying(FeatureMechanism):
    def randomize(self, private, words=None):
        print("printed")
        os.write(2, b"written ")
        logging.getLogger("x").debug("logged")
        loaded = [name for name in sys.modules if name.startswith("graphveil.audit")]
        open(os.devnull, "w").close()
        if loaded:
            raise RuntimeError(loaded)
        Saying.last = float(private.sum())
        return super().randomize(private, words)

def build(**settings):
    made = mechanism("onebit", **settings)
    return Saying(**{name: getattr(made, name) for name in made.__dataclass_fields__})
"""


@pytest.fixture(scope="module")
def other():
    with Separate(partial(build_named, "onebit"), SETTINGS, []) as started:
        yield started


@pytest.fixture(scope="module")
def saying(tmp_path_factory):
    from graphveil.plugins import load_file

    path = tmp_path_factory.mktemp("files") / "saying.py"
    path.write_text(SAYING)
    with Separate(load_file(path).module.build, SETTINGS, [path]) as started:
        yield started


def test_it_answers_and_decodes_as_here(other):
    built = mechanism("onebit", **SETTINGS)
    reports = built.randomize(ROWS, SeededBits(3))
    decoded = other.decode(reports.to_bytes())
    assert np.array_equal(decoded.values, Decoded.of(built.estimate(reports)).values)
    sent = other.randomize(ROWS, 3)
    assert Reports.from_bytes(sent.message, built) == reports
    assert (sent.error, sent.said, sent.left) == (None, b"", ())


def test_what_fails_there_is_told(other):
    assert other.randomize(ROWS[:, :2], 3).error == "InputError"
    with pytest.raises(SeparateError, match="MessageError"):
        other.decode(b"nothing")
    assert other.left_behind(ROWS, 3) == other.left_behind(1 - ROWS, 3)


def test_what_it_says_and_what_leaves_it_and_what_a_class_remembers_is_seen(saying):
    sent = saying.randomize(ROWS, 3)
    assert sent.error is None
    assert {b"printed", b"written", b"logged"} <= set(sent.said.split())
    assert sent.left == ("opens a file to write",)
    one, other = saying.left_behind(ROWS, 3), saying.left_behind(2 * ROWS, 3)
    assert [name for name in one if one[name] != other[name]] == ["last of the class Saying"]


def test_what_cannot_be_built_there_is_said():
    with pytest.raises(SeparateError, match="no mechanism is named"):
        Separate(partial(build_named, "nope"), SETTINGS, [])
