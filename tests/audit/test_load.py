import sys

import pytest

from graphveil.audit.candidate import load_mechanism
from graphveil.errors import InputError
from graphveil.mechanisms import names, unregister

GOOD = """
from dataclasses import dataclass
from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange, mechanism, register

@dataclass(frozen=True, eq=False, repr=False)
class Mine(FeatureMechanism):
    pass

def build(epsilon, dims, range):
    return Mine("mine", Claim(epsilon), PublicRange.of(range), dims, dims, (onebit(epsilon / dims),), 1.0)

ready = mechanism("krr", epsilon=1.0, classes=3)
number = 3
register("loaded-by-a-test", summary="a test")(build)
"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(GOOD)
    yield file
    if "loaded-by-a-test" in names():
        unregister("loaded-by-a-test")


def test_a_function_a_name_or_a_mechanism_is_found(path):
    assert callable(load_mechanism(f"{path}:build"))
    unregister("loaded-by-a-test")
    assert load_mechanism(f"{path}:loaded-by-a-test") == "loaded-by-a-test"
    unregister("loaded-by-a-test")
    assert load_mechanism(f"{path}:ready").name == "krr"


def test_what_the_file_has_is_named(path):
    with pytest.raises(InputError, match=r"has no 'nope': it has loaded-by-a-test, Mine, build"):
        load_mechanism(f"{path}:nope")


def test_what_builds_nothing_is_refused(path):
    with pytest.raises(InputError, match="'number' in .* is a int"):
        load_mechanism(f"{path}:number")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f(:", "SyntaxError"),
        ("import no_such_module", "ModuleNotFoundError"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_file_that_cannot_be_imported_says_why(tmp_path, text, words):
    file = tmp_path / "bad.py"
    file.write_text(text)
    with pytest.raises(InputError, match=f"cannot be imported: {words}"):
        load_mechanism(f"{file}:f")


@pytest.mark.parametrize(
    ("reference", "words"),
    [("nowhere.py:f", "there is no file"), ("mine.py", "PATH.py:NAME"), ("mine.py:", "PATH.py:NAME")],
)
def test_a_reference_to_nothing_is_refused(reference, words):
    with pytest.raises(InputError, match=words):
        load_mechanism(reference)


def test_a_file_of_another_kind_is_refused(tmp_path):
    file = tmp_path / "mine.txt"
    file.write_text(GOOD)
    with pytest.raises(InputError, match="is no Python file"):
        load_mechanism(f"{file}:build")


def test_a_file_may_import_what_lies_beside_it(tmp_path):
    (tmp_path / "beside_a_test.py").write_text("answer = 42\n")
    (tmp_path / "mine.py").write_text(
        "from beside_a_test import answer\n\ndef build(epsilon):\n    return answer\n"
    )
    assert load_mechanism(f"{tmp_path / 'mine.py'}:build")(1.0) == 42
    assert str(tmp_path) not in sys.path
