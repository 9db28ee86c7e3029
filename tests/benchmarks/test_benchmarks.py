"""The benchmarks run, on tiny sizes; how long they take is none of a test's business.

What they measure in processes of their own is measured in this one; tests/slow starts the processes.
"""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import random as random_sparse

import benchmarks.__main__ as command
from benchmarks import collect, draws, kernels, propagation, reports, rounds, start, structure, tables, whole
from benchmarks.dense import dense_multibit
from benchmarks.measure import Timings, interleaved, peak_megabytes
from benchmarks.result import Result, Sizes, amount, proportion, table
from benchmarks.rows import ONES_A_ROW, generated_rows, sparse_rows
from graphveil.channels.sampling import BLOCK
from graphveil.collect.storage import open_collection
from graphveil.denoise import HOA
from graphveil.linear import gcn_matrix

TINY = Sizes(draws=1000, users=40, dimensions=30, repetitions=1, epochs=2)
MISSED = Result("draws", "coin", "words", "s", 2.0, 1.0, target=1.0)


def test_draws_compare_every_channel_with_both_kinds_of_words() -> None:
    results = draws.run(TINY)
    cases = [draws.ONE_CALL, *draws.channels()]
    expected = [(case, words) for words in ("Philox words", "system words") for case in cases]
    assert [(result.case, result.reference) for result in results] == expected
    assert all(result.target == draws.TARGET for result in results if result.case != draws.ONE_CALL)


def test_the_collector_reads_the_same_in_both_ways() -> None:
    results = collect.reading(TINY)
    assert [result.case for result in results] == [
        "40 messages into reports",
        "40 messages into reports, database",
    ]
    assert all(result.target == collect.READING_TARGET for result in results)


def test_the_collector_says_how_much_memory_it_takes(tmp_path: Path) -> None:
    before, after = collect.grown(tmp_path, users=30, reports=90)
    assert 10 < before <= after + 10
    stored = open_collection(tmp_path / "collection")
    assert stored.counts()["reports"] == 90
    stored.database.close()


def test_the_raw_words_are_as_many_as_the_codes() -> None:
    counts = (1, BLOCK, 2 * BLOCK + 5)
    for words in (draws.philox_words, draws.system_words):
        assert [draws.in_blocks(words(), count) for count in counts] == list(counts), words


@pytest.mark.parametrize("source", [draws.philox_words, draws.system_words])
def test_the_raw_words_have_64_bits(source: Callable[[], draws.Take]) -> None:
    words = source()(64)
    assert (words.dtype, len(np.unique(words))) == (np.uint64, 64)


def test_reports_compare_time_memory_and_the_smallest_width_that_holds_the_alphabet() -> None:
    results = reports.run(TINY)
    assert [result.case.split(": ")[1] for result in results] == ["time", "memory"] * 2 + ["width"] * 2
    assert [result.unit for result in results] == ["s", "MB"] * 2 + ["bytes"] * 2
    widths = [result for result in reports.run(TINY) if result.unit == "bytes"]
    assert all(result.met for result in widths)
    assert widths[0].ours == 1
    alphabets = (2, 256, 257, 65536, 65537)
    assert [reports.smallest_width(alphabet) for alphabet in alphabets] == [1, 1, 2, 2, 4]


def test_tables_are_built_anew_for_every_family_and_not_taken_from_the_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    family = tables.FAMILIES["piecewise"]
    first, second = family.first_code(1.0), family.first_code(1.0)
    assert first is not second
    assert first == second == family.build(1.0)
    few = {name: tables.FAMILIES[name] for name in ("one-bit", "gaussian", "7-ary")}
    monkeypatch.setattr(tables, "FAMILIES", few)
    results = tables.run(TINY)
    assert [result.case.split(" (")[0] for result in results] == [
        *(f"one-bit, ε = {epsilon}" for epsilon in ("0.01", "1", "6")),
        *(f"gaussian, ε = {epsilon}" for epsilon in ("0.01", "1")),
        *(f"7-ary, ε = {epsilon}" for epsilon in ("0.01", "1", "6")),
    ]
    assert all(result.target is None for result in results)


def test_kernels_are_compared_for_every_width_and_numba_s_product_is_the_product() -> None:
    results = kernels.run(TINY)
    cases = ["ours", "scipy", "a plain loop of numba", kernels.HOPS_OF_OURS]
    assert [result.case.split(",")[0] for result in results] == cases * len(kernels.COLUMNS)
    matrix, dense = random_sparse(7, 5, density=0.4, format="csr", random_state=0), np.eye(5, 3)
    out = np.empty((7, 3))
    kernels.numba_product(matrix.indptr, matrix.indices, matrix.data, dense, out)
    np.testing.assert_allclose(out, matrix @ dense)


def test_propagation_is_compared_in_time_error_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(way: str, sizes: Sizes) -> float:
        return propagation.measure_here(way, sizes.users, sizes.dimensions)

    monkeypatch.setattr(propagation, "SETTINGS", propagation.SETTINGS[:2])
    monkeypatch.setattr(propagation, "_measured", measured)
    results = propagation.run(TINY)
    assert [result.unit for result in results] == ["s", "of the max", "of the max", "s", "s", "MB", "MB"]
    assert all(result.met for result in results if result.unit == "of the max")


def test_the_fewest_steps_are_the_fewest() -> None:
    _, graph, users = whole._data(40, 30)
    matrix = propagation.propagation(graph)
    rows = propagation.reported(users, 5).to_scipy().toarray()
    exact = propagation.solution(matrix, rows)
    steps = propagation.fewest_steps(matrix, rows, exact, 1e-3)
    single, rows = matrix.astype(np.float32), rows.astype(np.float32)
    errors = [
        propagation.largest_error(propagation.power_blocks(single, rows, count), exact)
        for count in (steps - 1, steps)
    ]
    assert errors[1] <= 1e-3 < errors[0]


def test_a_whole_run_is_compared_in_time_memory_and_accuracy(monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(side: str, sizes: Sizes) -> dict[str, object]:
        return whole.measure_here(side, sizes.users, sizes.dimensions, sizes.epochs)

    monkeypatch.setattr(whole, "_measured", measured)
    results = whole.run(TINY)
    assert [result.unit for result in results] == ["s", "MB", "% wrong"]
    assert all(result.ours > 0 and result.theirs > 0 for result in results if result.unit != "MB")


def test_the_dense_reference_averages_over_hops() -> None:
    _, graph, _ = whole._data(40, 30)
    rows = torch.randn(40, 30)
    expected = HOA(whole.HOPS).operator(gcn_matrix(graph, loops=False)) @ rows
    torch.testing.assert_close(whole._dense_hops(rows, graph), expected)


@pytest.fixture
def one_missed_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "BENCHMARKS", {"draws": lambda sizes: [MISSED]})


@pytest.mark.usefixtures("one_missed_target")
@pytest.mark.parametrize(("options", "status"), [([], 0), (["--strict"], 1), (["--strict", "--quick"], 0)])
def test_only_strict_turns_a_missed_target_into_a_status(options: list[str], status: int) -> None:
    assert command.main(options) == status


@pytest.mark.usefixtures("one_missed_target")
def test_json_is_all_that_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    command.main(["draws", "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert printed["results"] == [MISSED.fields()]
    assert printed["sizes"]["draws"] == 10**7


def test_an_unknown_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        command.main(["drawz"])
    assert stopped.value.code == 2
    assert (
        "no benchmark is named 'drawz': choose some of collect, dendrograms, draws, kernels, links, parts, peers, propagation, reports, rounds"
        in capsys.readouterr().err
    )


def test_each_call_is_compared_with_the_import_of_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[list[str]] = []

    def taken(words: list[str]) -> float:
        calls.append(words)
        return 1.0 if words[0] == "-c" else 1.2 + len(calls) / 1000

    monkeypatch.setattr(start, "seconds_of", taken)
    results = start.run(TINY)
    assert [result.reference for result in results] == [start.LIBRARIES] * (len(results) - 1) + [start.TORCH]
    assert calls[:2] == [["-c", start.LIBRARIES], ["-c", "import graphveil"]]
    assert all(result.target == 1.3 and result.median is not None for result in results)
    assert results[-1].ours == 1.2 + (len(calls) - 2 * (TINY.repetitions - 1)) / 1000


def test_seconds_of_a_process_are_its_own_and_a_failure_is_none() -> None:
    assert start.seconds_of(["-c", "sum(range(10**7))"]) > start.seconds_of(["-c", "pass"]) > 0
    with pytest.raises(RuntimeError, match="ended with status 3"):
        start.seconds_of(["-c", "raise SystemExit(3)"])


def test_two_rounds_are_compared_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = []

    def measured(method: str, settings: dict[str, object], shape: tuple[int, int, int]) -> dict[str, object]:
        shapes.append(shape)
        return rounds.measure_here(method, settings, *shape)

    monkeypatch.setattr(rounds, "_measured", measured)
    results = rounds.run(TINY)
    assert [(result.reference, result.unit) for result in results] == [
        (reference, unit) for reference in ("base", "base", "lpgnn") for unit in ("s", "MB")
    ]
    assert set(shapes) == {(TINY.users, TINY.dimensions, TINY.epochs)}
    assert all(result.ours > 0 and result.theirs > 0 for result in results)


def test_structure_is_compared_with_plain_loops_by_time_and_by_what_is_wrong() -> None:
    time, wrong = structure.run(TINY)
    assert (time.reference, wrong.reference) == ("plain loops", "plain loops")
    assert (time.unit, time.target, wrong.unit) == ("s", structure.TIME_TARGET, "% wrong")
    assert time.case.startswith("all candidates, generated")


def test_the_generated_graph_has_two_thirds_of_its_links_inside_a_class() -> None:
    _, graph = structure._graph(3000)
    labels = np.random.default_rng(structure.SEED).integers(0, structure.CLASSES, 3000)
    pairs = graph.pairs()
    # 22,000 links: the standard error is 0.003.
    assert float((labels[pairs[:, 0]] == labels[pairs[:, 1]]).mean()) == pytest.approx(2 / 3, abs=0.02)


def test_calls_take_turns_and_the_best_and_median_are_taken_side_by_side() -> None:
    order: list[str] = []
    timings = interleaved({"one": lambda: order.append("one"), "two": lambda: order.append("two")}, 2)
    assert order == ["one", "two"] * 3
    assert {name: len(taken) for name, taken in timings.seconds.items()} == {"one": 2, "two": 2}
    assert Timings({"one": (3.0, 1.0, 2.0)}).best("one") == 1.0
    timings = Timings({"ours": (1.0, 8.0, 6.0), "theirs": (1.0, 2.0, 3.0)})
    assert timings.median_ratio("ours", "theirs") == 2.0


def test_the_peak_counts_what_is_freed_before_the_end_and_not_what_was_there_before() -> None:
    def two_then_one() -> np.ndarray:
        return np.ones(1_000_000) + np.ones(1_000_000)

    # Three arrays of 8 MB at the most; numpy may add in place and keep two.
    assert 15.9 < peak_megabytes(two_then_one) < 24.1
    before = np.ones(1_000_000)
    assert peak_megabytes(lambda: before[:10].copy()) == pytest.approx(0, abs=0.1)


RESULT = Result("draws", "coin", "words", "s", 0.02, 0.01, target=5.0, median=2.5)


def test_a_target_is_an_upper_bound_and_fields_hold_the_verdict() -> None:
    assert [replace(RESULT, target=target).met for target in (None, 1.9, 2.0)] == [None, False, True]
    fields = RESULT.fields()
    assert (fields["ratio"], fields["target"], fields["met"]) == (2.0, 5.0, True)


def test_amounts_have_three_digits_and_small_ratios_are_fractions() -> None:
    shown = [amount(0.0123, "s"), amount(2.5, "s"), amount(1483.2, "MB"), amount(1, "bytes")]
    assert shown == ["12.3 ms", "2.5 s", "1480 MB", "1 bytes"]
    ratios = (4.2, 0.9, 0.25, 1 / 141)
    assert [proportion(ratio) for ratio in ratios] == ["4.20", "0.90", "1/4", "1/141"]


def test_the_table_has_a_line_a_result() -> None:
    lines = table([RESULT, replace(RESULT, target=1.0)]).splitlines()
    assert len(lines) == 4
    assert lines[2].split() == [
        "draws",
        "coin",
        "words",
        "20",
        "ms",
        "10",
        "ms",
        "2.00",
        "2.50",
        "≤",
        "5.00",
        "yes",
    ]
    assert lines[3].endswith("NO")


def test_generated_rows_hold_the_same_number_of_ones_each_and_stand_for_those_that_are_not_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = generated_rows(30, 50)
    assert rows.shape == (30, 50)
    assert rows.has_canonical_format
    assert (rows.toarray().sum(axis=1) == ONES_A_ROW).all()
    assert set(np.unique(rows.toarray())) == {0.0, 1.0}
    monkeypatch.delenv("GRAPHVEIL_DATA", raising=False)
    assert sparse_rows(4, 20)[0] == "generated"


def test_stored_rows_are_taken_where_they_have_the_shape(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = {"x_indptr": [0, 1, 1], "x_indices": [2], "x_data": [1.0], "x_shape": [2, 3]}
    np.savez(tmp_path / "facebook.npz", **{key: np.array(value) for key, value in stored.items()})
    monkeypatch.setenv("GRAPHVEIL_DATA", str(tmp_path))
    source, rows = sparse_rows(2, 3)
    assert (source, rows.toarray().tolist()) == ("facebook", [[0, 0, 1], [0, 0, 0]])
    assert sparse_rows(3, 20)[0] == "generated"


# Here e^ε is beyond what a float32 can tell from certainty: a bit says which end a value is at.
CERTAIN = 80.0


@pytest.mark.parametrize("sampled", [1, 3, 7])
def test_every_row_has_as_many_bits_as_asked(sampled: int) -> None:
    bits = dense_multibit(np.zeros((200, 7), np.float32), sampled, 1.0, np.random.default_rng(0))
    assert (np.abs(bits).sum(axis=1) == sampled).all()
    assert set(np.unique(bits)) <= {-1.0, 0.0, 1.0}


def test_every_row_has_as_many_float32_bits_as_asked_and_without_noise_a_bit_is_the_value() -> None:
    assert dense_multibit(np.zeros((2, 3), np.float32), 1, 1.0, np.random.default_rng(0)).dtype == np.float32
    rows = np.random.default_rng(1).integers(0, 2, (50, 4)).astype(np.float32)
    assert np.array_equal(dense_multibit(rows, 4, 4 * CERTAIN, np.random.default_rng(0)), 2 * rows - 1)


def share_of_ones(value: float, sampled: int, epsilon: float, users: int) -> tuple[float, int]:
    """How often the bits of users who all hold this value are +1, and how many bits there are."""
    rows = np.full((users, 4), value, np.float32)
    bits = dense_multibit(rows, sampled, epsilon, np.random.default_rng(2))
    return float((bits == 1).sum() / (bits != 0).sum()), int((bits != 0).sum())


@pytest.mark.statistical
@pytest.mark.parametrize("value", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("sampled", [1, 2])
def test_the_budget_is_divided_over_the_bits(value: float, sampled: int) -> None:
    """Hoeffding's bound; false alarm 1e-6, seed fixed."""
    power = math.exp(1.0 / sampled)
    share, count = share_of_ones(value, sampled, 1.0, 100_000)
    assert abs(share - (value * (power - 1) + 1) / (power + 1)) < math.sqrt(math.log(2e6) / (2 * count))


@pytest.mark.statistical
def test_all_places_are_asked_for_alike() -> None:
    """Hoeffding's bound for each of five places; false alarm 1e-6 together, seed fixed."""
    users = 100_000
    bits = dense_multibit(np.zeros((users, 5), np.float32), 2, 1.0, np.random.default_rng(3))
    asked = np.abs(bits).mean(axis=0)
    assert np.abs(asked - 2 / 5).max() < math.sqrt(math.log(1e7) / (2 * users))
