"""Files that are run, and what installed packages offer."""

import sys

import pytest

from graphveil import plugins as outside
from graphveil.errors import InputError
from graphveil.plugins import Registry, digest, divided, expect, expected, held, load_file, plugins


@pytest.fixture(autouse=True)
def nothing_expected(monkeypatch):
    monkeypatch.setattr(outside, "_expected", {})


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("value = object()\n")
    return path


def test_a_file_is_run_once(file):
    assert load_file(file).module.value is load_file(file).module.value


def test_a_changed_file_is_run_again(file):
    load_file(file)
    file.write_text("value = 'another'\n")
    assert load_file(file).module.value == "another"


def test_a_change_of_the_same_size_within_a_second_is_seen(file):
    for letter in "abc":
        file.write_text(f"value = '{letter}'\n")
        assert load_file(file).module.value == letter


def test_a_changed_file_sees_what_has_changed_beside_it(tmp_path, file):
    (tmp_path / "beside_an_outside_test.py").write_text("number = 1\n")
    file.write_text("from beside_an_outside_test import number\n")
    assert load_file(file).module.number == 1
    # Bytecode is looked at by size and second, so the size differs.
    (tmp_path / "beside_an_outside_test.py").write_text("number = 22\n")
    file.write_text("from beside_an_outside_test import number  # again\n")
    assert load_file(file).module.number == 22


def test_the_digest_is_of_what_was_run_and_not_of_what_is_there_now(file):
    before = digest(f"{file}:value")
    load_file(file)
    file.write_text("value = 2\n")
    assert digest(f"{file}:value") == before
    load_file(file)
    assert digest(f"{file}:value") != before


def test_a_file_that_is_held_stays_what_it_was(file):
    before = load_file(file).module.value
    with held():
        file.write_text("value = 2\n")
        assert load_file(file).module.value is before
        file.unlink()
        assert load_file(file).module.value is before
    file.write_text("value = 3\n")
    assert load_file(file).module.value == 3


def test_a_file_that_is_not_as_another_process_has_run_it_is_refused(file):
    load_file(file)
    expect(expected())
    assert load_file(file)
    file.write_text("value = 2\n")
    with pytest.raises(InputError, match="was changed while an experiment was running"):
        load_file(file)


def test_a_file_that_asks_for_itself_is_refused(file):
    file.write_text(
        "from pathlib import Path\nfrom graphveil.plugins import load_file\nload_file(Path(__file__))\n"
    )
    with pytest.raises(InputError, match="asks for itself while it is run"):
        load_file(file)


def test_a_file_that_exits_is_refused_and_leaves_nothing(file):
    file.write_text("import sys\nsys.exit(3)\n")
    before = set(sys.modules)
    with pytest.raises(InputError, match="cannot be imported: SystemExit: 3"):
        load_file(file)
    assert set(sys.modules) == before


def test_what_a_broken_file_had_registered_is_forgotten(file):
    fruit = Registry[int]("fruit")
    sys.modules["graphveil"].fruit_of_a_test = fruit
    try:
        file.write_text("import graphveil\ngraphveil.fruit_of_a_test.add('fig', 1)\n1 / 0\n")
        with pytest.raises(InputError, match="ZeroDivisionError"):
            load_file(file)
    finally:
        del sys.modules["graphveil"].fruit_of_a_test
    assert "fig" not in fruit


@pytest.mark.parametrize("reference", ["mine.py", ":Mine", "mine.py:"])
def test_half_a_reference_is_refused(reference):
    with pytest.raises(InputError, match="a method in a file is named PATH.py:NAME"):
        divided(reference, "method")


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        load_file(tmp_path)


def test_a_group_that_nobody_uses_has_no_plugins():
    assert plugins("graphveil.a-group-of-a-test") == {}
