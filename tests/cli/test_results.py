import io
import subprocess
import sys
from pathlib import Path

import pytest

from graphveil.experiments import ResultStore
from graphveil.experiments import store as reuse
from graphveil.experiments.store import RESULTS
from tests.experiments.test_records import damage, result


@pytest.fixture(autouse=True)
def store(own_folder):
    """Four results: the third is the second again, computed otherwise."""
    store = ResultStore(own_folder / "cache" / RESULTS)
    for epsilon, score in ((1.0, 0.5), (2.0, 0.6), (2.0, 0.7), (4.0, 0.4)):
        store.add(result(epsilon, score=score))
    return store


@pytest.fixture
def numbers(store):
    """The numbers of what is kept."""
    return lambda: sorted(kept.number for kept in store.results())


@pytest.fixture
def listed(call):
    """Calls the command, and gives the numbers that are listed."""
    return lambda *words: [int(line.split()[0]) for line in call("results", *words).lines[1:]]


def test_the_last_result_of_each_experiment_is_listed_with_its_numbers(call):
    printed = call("results")
    head, *rows = printed.lines
    assert head.split()[:2] == ["no.", "graph"]
    assert [row.split()[0] for row in rows] == ["1", "3", "4"]
    assert "50.5" in rows[0] and "44.1 to 56.9" in rows[0] and "+0.0" in rows[0]
    assert printed.err == "Not listed: 1 earlier result of the same experiments (--earlier).\n"


SELECTIONS = [
    ("--earlier", [1, 2, 3, 4]),
    ("2 4", [2, 4]),
    ("--epsilon 2 --epsilon 4", [3, 4]),
    ("--method base --data town --task node --mechanism multibit", [1, 3, 4]),
    ("--seed 0 --epsilon 4", [4]),
    ("--sort mean", [3, 1, 4]),
    ("--sort mean --reverse", [4, 1, 3]),
    ("--sort epsilon --reverse", [4, 3, 1]),
]


def test_results_are_filtered_and_sorted(listed):
    assert [(words, listed(words)) for words, _ in SELECTIONS] == SELECTIONS


def test_tags_are_added_found_and_removed(listed, store):
    assert listed("2 4 --add-tag good --add-tag old") == [2, 4]
    assert listed("--tag good") == [2, 4]
    assert listed("--tag good --remove-tag good --epsilon 4") == [4]
    tags = {1: (), 2: ("good", "old"), 3: (), 4: ("old",)}
    assert {kept.number: kept.tags for kept in store.results()} == tags


def test_json_is_one_object_and_nothing_else(call):
    (only,) = call("results 3 --add-tag x --json").json["results"]
    assert (only["number"], only["tags"], only["epsilon"], only["runs"]) == (3, ["x"], 2.0, [0.7, 0.71])
    assert only["gain"]["mean"] == 0.0


@pytest.mark.parametrize("suffix", [".csv", ".json", ".html"])
def test_the_selected_results_are_written_to_a_file(suffix, call, tmp_path):
    assert call(f"results --epsilon 4 --out x{suffix}").out == f"1 result is in x{suffix}.\n"
    assert "multibit" in (tmp_path / f"x{suffix}").read_text()
    call(f"report x{suffix} --no-energy", ends=0 if suffix == ".json" else 2)


def test_deleting_shows_what_goes_and_asks(call, monkeypatch, numbers):
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    told = call("results --epsilon 4 --delete")
    assert told.out == ""
    assert "multibit" in told.err and "Delete 1 result?" in told.err and "Nothing was deleted." in told.err
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    said = "nobody is there to answer, so nothing was deleted: give --yes too"
    assert said in call("results 1 --delete", ends=2).err

    class Interrupted:
        def readline(self):
            raise KeyboardInterrupt

    monkeypatch.setattr("sys.stdin", Interrupted())
    call("results 1 --delete", ends=130)
    assert numbers() == [1, 2, 3, 4]
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert call("results --epsilon 4 --delete").out == "Deleted 1 result; finished runs stay.\n"
    assert numbers() == [1, 2, 3]


def test_deleting_needs_no_answer_where_yes_is_given(call, store, numbers):
    said = "No result fits: nothing was deleted.\n"
    assert call("results --method lpgnn --delete --yes").out == said
    assert numbers() == [1, 2, 3, 4]
    said = "Not deleted: 1 earlier result of the same experiments (--earlier).\n"
    assert call("results --epsilon 2 --delete --yes").err == said
    assert numbers() == [1, 2, 4]
    assert call("results 1 2 --delete --yes --json").json == {"deleted": [1, 2]}
    assert numbers() == [4]
    # One that is computed again has a new number.
    call("results 4 --delete --yes")
    store.add(result(4.0, score=0.4))
    assert numbers() == [5]


def test_results_of_the_same_experiment_are_told_apart_by_what_computed_them(call, store, monkeypatch):
    monkeypatch.setattr(reuse, "source_digest", lambda: "feedbeef" * 8)
    store.add(result(4.0, score=0.4))
    head, first, second = call("results --epsilon 4 --earlier").lines
    assert "source" in head and "feedbeeffeed" in second and "feedbeef" not in first
    assert "source" not in call("results 4").lines[0]


def test_a_disk_without_room_for_what_is_printed_is_told_in_one_line():
    command = [sys.executable, "-m", "graphveil", "results", "--json"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, check=False, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: there is no room for what was to be written")
    assert len(done.stderr.splitlines()) == 1


MISTAKES = [
    ("--delete", "without a selection everything would be deleted"),
    ("--delete --yes", "without a selection everything would be deleted"),
    ("--delete --yes --earlier", "without a selection everything would be deleted"),
    ("--add-tag x", "without a selection everything would be tagged"),
    ("1 --add-tag 7", "a tag has letters, digits"),
    ("1 --add-tag base", "base is a method, so it cannot be a tag"),
    ("--yes", "--yes has no meaning where nothing is deleted"),
    ("1 --delete --add-tag x", "--delete is for itself"),
    ("1 --delete --out x.csv", "--delete is for itself"),
    ("--out x.csv --json", "--out and --json say two places"),
    ("--out x.xls", "x.xls has the unsupported format .xls: use .csv, .parquet, .json or .html"),
    ("--out nowhere/x.csv", "nowhere is not a folder"),
    ("--out folder.csv", "folder.csv is a folder: name a file"),
    ("--sort size", "no order is named 'size'"),
    ("9", "no result has the number 9"),
    ("nine", "Invalid value for 'numbers': Input should be a valid integer"),
]


def test_a_mistake_exits_with_2_and_one_line_and_changes_nothing(refuses, store):
    before = store.results()
    Path("folder.csv").mkdir()
    refuses(MISTAKES, "results", changed=lambda: store.results() != before)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--method lpgnn", "no result has the method lpgnn: there are base."),
        ("--epsilon 2 1", "none has all of this at once."),
    ],
)
def test_where_nothing_fits_it_is_told_why(words, said, call):
    printed = call("results", words)
    assert (printed.out, printed.err.strip()) == ("", f"No result fits: {said}")


def test_an_empty_store_says_what_to_do(call, monkeypatch, tmp_path):
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path / "other"))
    printed = call("results --json")
    assert printed.json == {"results": []}
    assert "No run has left a result" in printed.err
    assert not (tmp_path / "other").exists()


def test_damaged_records_are_told_and_hide_no_other(call, store):
    damage(store, "[1]")
    printed = call("results")
    assert len(printed.lines) == 4
    assert "1 of 5 records is damaged and skipped" in printed.err
