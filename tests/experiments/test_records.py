import json
import sqlite3
from contextlib import closing
from dataclasses import asdict, replace

import pytest

from graphveil.errors import InputError, StoreError
from graphveil.experiments import Experiment, Result
from graphveil.experiments import store as reuse
from graphveil.experiments.results import latest, read_results
from graphveil.experiments.store import ResultStore
from graphveil.experiments.unit import UnitResult
from graphveil.privacy.record import Cost, Privacy
from tests.refusals import check_refused


def result(epsilon=1.0, interrupted=False, score=0.5, seconds_in_all=1.0, finished=(0, 1), **options):
    seconds = dict.fromkeys(("report", "denoise", "train", "total"), 0.1)
    privacy = Privacy(features=Cost(epsilon=epsilon))
    units = tuple(
        UnitResult(part, run, score + run / 100, "label propagation", privacy, seconds, 10.0)
        for part in ("method", "control", "structure")
        for run in finished
    )
    spec = Experiment.of("base", "town", epsilon=epsilon, runs=2, settings={"epochs": 3}, **options)
    return Result.from_units(spec, units, version="0.1.0", seconds=seconds_in_all, interrupted=interrupted)


@pytest.fixture
def store(tmp_path):
    return ResultStore(tmp_path / "deep" / "results.sqlite")


def test_a_kept_result_comes_back_with_what_was_run_and_when(store):
    store.add(result(label_epsilon=2.0, data_options={"range": (0, 1)}))
    (record,) = store.results()
    assert (record.method, record.epsilon, record.runs) == ("base", 1.0, (0.5, 0.51))
    assert record.experiment.settings == {"epochs": 3}
    assert record.experiment.budgets.label_epsilon == 2.0
    assert record.experiment.data_options == {"range": [0, 1]}
    assert record.structure.name == "label propagation"
    assert record.time.endswith("+00:00")
    assert not record.interrupted


def test_results_keep_their_order_and_an_interrupted_one_is_marked(store):
    assert store.results() == []
    for epsilon in (3.0, 1.0, 2.0):
        store.add(result(epsilon, interrupted=epsilon == 2.0))
    found = [(3.0, False), (1.0, False), (2.0, True)]
    assert [(record.epsilon, record.interrupted) for record in store.results()] == found
    # The file can be named.
    assert [record.epsilon for record in read_results([store.file])] == [3.0, 1.0, 2.0]


def damage(store, *texts):
    """Add records that are none."""
    with closing(sqlite3.connect(store.file)) as connection, connection:
        for text in texts:
            connection.execute("INSERT INTO results (source, time, result) VALUES ('', '', ?)", (text,))


DAMAGED = ["[1]", '{"method": "base"}', "", '{"method": "base", "da', b"\xff\x00", 7, "[" * 10**5]


def test_damaged_records_are_counted_and_skipped_and_take_no_other_with_them(store):
    store.add(result(1.0))
    damage(store, *DAMAGED)
    store.add(result(2.0))
    told = []
    assert [record.epsilon for record in store.results(told.append)] == [1.0, 2.0]
    assert told == [f"{store.file}: 7 of 9 records are damaged and skipped"]


def test_what_is_no_result_is_not_taken_for_one(tmp_path):
    file, told = tmp_path / "x.json", result().to_dict()

    def read(wrong):
        file.write_text(json.dumps({**told, **wrong}))
        return read_results([file])

    wrong = [{"mean": "much"}, {"runs": []}, {"epsilon": -1}, {"mean": float("nan")}, {"control": {"low": 1}}]
    check_refused(read, [(each, "holds no result") for each in wrong])


def test_files_of_one_object_of_several_lines_and_lists_are_read(tmp_path):
    one, two = (json.dumps(result(epsilon).to_dict()) for epsilon in (1.0, 2.0))
    texts = [
        json.dumps(json.loads(one), indent=2),
        f"{one}\n{two}\n",
        f"[{one}, {two}]",
        f'{{"results": [{one}, {two}]}}',
    ]
    found = []
    for text in texts:
        (tmp_path / "x.json").write_text(text)
        found.append([record.epsilon for record in read_results([tmp_path / "x.json"])])
    assert found == [[1.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0]]


def test_a_folder_is_read_file_by_file_and_what_is_no_result_is_passed_over(tmp_path):
    with pytest.raises(InputError, match="holds no result"):
        read_results([tmp_path])
    with pytest.raises(InputError, match="is not there"):
        read_results([tmp_path / "nowhere.json"])
    (tmp_path / "b.json").write_text(json.dumps(result(2.0).to_dict()))
    (tmp_path / "a.jsonl").write_text(json.dumps(result(1.0).to_dict()))
    (tmp_path / "other.json").write_text('{"name": "something else"}')
    (tmp_path / "notes.txt").write_text(json.dumps(result(3.0).to_dict()))
    told = []
    assert [record.epsilon for record in read_results([tmp_path], told.append)] == [1.0, 2.0]
    assert told == []


def kept(store, *results):
    for one in results:
        store.add(one)
    return latest(store.results())


def test_of_the_same_experiment_the_last_result_counts(store):
    found = kept(store, result(score=0.5), result(2.0), result(score=0.6))
    assert [(record.epsilon, record.runs[0]) for record in found] == [(1.0, 0.6), (2.0, 0.5)]


def test_an_interrupted_result_counts_only_where_no_other_is_there(store):
    found = kept(store, result(score=0.5), result(score=0.6, interrupted=True), result(2.0, interrupted=True))
    assert [(record.runs[0], record.interrupted) for record in found] == [(0.5, False), (0.5, True)]
    assert kept(store, result(2.0))[1].interrupted is False
    # Without a spec only equal results are one.
    fields = result().to_dict()
    read = [Result.model_validate(each) for each in (fields, fields, {**fields, "runs": [0.1, 0.2]})]
    assert len(latest(read)) == 2


def test_whoever_asks_is_told_of_each_damaged_line_of_a_file(tmp_path):
    file = tmp_path / "a.jsonl"
    other = '{"method": 3, "data": "town", "runs": [0.5], "mean": 0.5}'
    file.write_text(f'{result(1.0).to_json()}\n[1]\n{{"method": "base"}}\n\n{other}\n{{"met\n')
    told = []
    assert len(read_results([file], told.append)) == 1
    assert [line.split(": skipped")[0].split(", line ")[1] for line in told] == ["2", "3", "5", "6"]
    assert "method: Input should be a valid string" in told[2]


def test_a_database_of_something_else_is_refused_by_name_and_passed_over_in_a_folder(store, tmp_path):
    store.add(result(1.0))
    other = store.file.parent / "other.sqlite"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE animals (name TEXT)")
    assert len(read_results([store.file.parent])) == 1
    with pytest.raises(StoreError, match="is a database of something else"):
        read_results([other])


def test_the_same_result_is_kept_once_and_keeps_its_number_and_tags(store):
    store.add(result(1.0))
    (first,) = store.results()
    store.tag([first.number], add=["good"])
    store.add(result(1.0, seconds_in_all=9.0))
    (again,) = store.results()
    assert (again.number, again.tags, again.time) == (first.number, ("good",), first.time)


def test_another_result_or_the_same_of_another_source_is_kept_besides(store, monkeypatch):
    for other in ({}, {"score": 0.6}, {"interrupted": True}, {"label_epsilon": 1.0}):
        store.add(result(**other))
    assert len(store.results()) == 4
    monkeypatch.setattr(reuse, "source_digest", lambda: "e" * 64)
    store.add(result())
    assert len(store.results()) == 5


@pytest.mark.parametrize(
    ("years", "scores"), [((2026, 2027, 2028), (0.5, 0.6, 0.5)), ((2026, 2020), (0.5, 0.6))]
)
def test_what_is_computed_again_is_the_last_of_its_experiment_whatever_the_clock(
    store, monkeypatch, years, scores
):
    for year, score in zip(years, scores, strict=True):
        monkeypatch.setattr(reuse, "_now", lambda year=year: f"{year}-01-01T00:00:00+00:00")
        store.add(result(score=score))
    (last,) = latest(store.results())
    assert last.runs[0] == scores[-1]


def test_tags_come_and_go_and_what_is_deleted_leaves_its_number_to_nobody(store):
    for epsilon in (1.0, 2.0):
        store.add(result(epsilon))
    one, two = (kept.number for kept in store.results())
    store.tag([one, two], add=["b", "a"])
    store.tag([one, two], add=["a"])
    store.tag([two], remove=["b"])
    assert [kept.tags for kept in store.results()] == [("a", "b"), ("a",)]
    store.delete([two])
    store.tag([two], add=["late"])
    store.add(result(3.0))
    assert [(kept.number == one, kept.tags) for kept in store.results()] == [(True, ("a", "b")), (False, ())]
    assert two not in [kept.number for kept in store.results()]


def test_a_result_reads_back_as_it_was_printed(store):
    fresh = result()
    store.add(fresh)
    (read,) = store.results()
    assert read.to_dict() == fresh.to_dict()
    assert read.table() == fresh.table()
    assert repr(read) == repr(fresh)
    assert replace(read.experiment, machine=fresh.experiment.machine) == fresh.experiment
    # It says which seeds its runs have.
    store.add(result(seed=7, finished=[1], interrupted=True))
    assert store.results()[1].seeds == (8,)


def test_what_was_read_gives_the_scores_that_a_file_holds_and_says_what_it_does_not(store):
    store.add(result())
    (read,) = store.results()
    assert read.scores() == [0.5, 0.51] and read.scores("control") == [0.5, 0.51]
    assert read.scores("edgeless") == [] and read.units == ()
    for asked in (lambda: read.scores("structure"), lambda: read.of("method"), read.predictions, read.model):
        with pytest.raises(InputError, match="result of base was read from a file, .*: run it again"):
            asked()


def test_a_result_of_another_machine_and_with_an_error_that_is_no_number_is_read(store):
    fresh = result(max_memory=float("inf"))
    also = {"norm_error": {"mean": float("nan"), "low": None, "high": None, "runs": [float("nan")]}}
    file = store.file.with_suffix(".json")
    file.parent.mkdir()
    file.write_text(json.dumps({**fresh.to_dict(), "spec": asdict(fresh.experiment), "also": also}))
    (read,) = read_results([file])
    assert read.also["norm_error"].mean != read.also["norm_error"].mean
    assert read.experiment.settings == {"epochs": 3}


def test_no_code_is_run_because_a_result_names_it(tmp_path):
    code = tmp_path / "own.py"
    code.write_text("raise SystemExit('run')\n")
    fields = {**result().to_dict(), "method": f"{code}:OWN", "data": f"{code}:load"}
    file = tmp_path / "x.json"
    file.write_text(
        json.dumps({**fields, "spec": {"method": f"{code}:OWN", "budgets": {"mechanism": f"{code}:M"}}})
    )
    (read,) = read_results([file])
    assert read.experiment.method == read.method == f"{code}:OWN"
