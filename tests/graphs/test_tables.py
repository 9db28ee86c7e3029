"""Tables that somebody else wrote: text is UTF-8, sizes are compared with a limit before and while a table is read; two columns as CSV or Parquet."""

import re

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from graphveil import InputError, files
from graphveil.graphs import tables
from graphveil.graphs.tables import Lists, PairTable, TableFile, write_table
from tests.adversary.memory import refused_in_small_memory
from tests.refusals import check_refused

INVALID = pyarrow.array([b"anna", b"\xff\xfe"]).view(pyarrow.string())
# Repeated a million times, it takes a hundred gigabytes.
LONG = pyarrow.DictionaryArray.from_arrays(np.zeros(10**6, dtype=np.int32), ["x" * 10**5])


def table(file, **columns):
    # Without Arrow's own schema, as other programs write it.
    parquet.write_table(pyarrow.table(columns), file, store_schema=False)
    return file


def test_columns_come_back(tmp_path):
    held = {"number": np.arange(3, dtype=np.int32), "word": np.array(["a", "ü", "日本"])}
    write_table(tmp_path / "a.parquet", held)
    found = TableFile(tmp_path / "a.parquet", "mend it").read(["number", "word"])
    assert all(np.array_equal(found[name], held[name]) for name in held)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (INVALID, r"damaged or cannot be read \(ArrowInvalid\): mend it"),
        (pyarrow.array([1, None]), "column 'a' has empty cells; mend it"),
        (pyarrow.array([[1], [None]]), "column 'a' has lists with empty cells; mend it"),
        (pyarrow.array([b"a", b"b"]), "must hold numbers or text, got binary; mend it"),
        (pyarrow.array([{"b": 1}, {"b": 2}]), "must hold numbers or text, got struct"),
    ],
    ids=["bytes that are no text", "empty cells", "empty values", "bytes", "structs"],
)
def test_a_column_that_is_neither_numbers_nor_text_is_refused(tmp_path, column, said):
    file = table(tmp_path / "a.parquet", a=column)
    with pytest.raises(InputError, match=rf"{file}.* {said}"):
        TableFile(file, "mend it").read(["a"])


def test_two_columns_of_one_name_are_refused(tmp_path):
    parquet.write_table(pyarrow.table([[1], [2]], names=["a", "a"]), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="two columns of the same name: mend it"):
        TableFile(tmp_path / "a.parquet", "mend it")


READERS = {
    "table": "from graphveil.graphs.tables import TableFile; TableFile(path, 'mend it').read(['source'])",
    "pairs": "from graphveil.graphs.tables import PairTable; PairTable(path, 'mend it').words()",
}


@pytest.mark.parametrize("code", READERS.values(), ids=READERS)
def test_text_that_repeats_is_counted_before_it_is_spread(tmp_path, code):
    file = table(tmp_path / "a.parquet", source=LONG, target=LONG)
    assert file.stat().st_size < 20_000
    code = f"import pyarrow, pyarrow.parquet, pyarrow.compute; {code}"
    assert "asks for 100 GB of memory" in refused_in_small_memory(code, file)


def test_numbers_that_repeat_and_long_texts_count_as_what_they_take_in_memory(tmp_path, monkeypatch):
    words = ["x" * 10**6, *["a"] * 10_000]
    file = table(tmp_path / "a.parquet", a=words)
    with pytest.raises(InputError, match=r"asks for 40 GB of memory"):
        TableFile(file, "mend it").read(["a"])
    file = table(tmp_path / "a.parquet", a=np.zeros(10**6, dtype=np.int64))
    assert file.stat().st_size < 5000
    monkeypatch.setattr(files, "MAX_GIGABYTES", 0.007)
    with pytest.raises(InputError, match=r"asks for 0.008 GB of memory, more than the 0.007 GB .*: mend it"):
        TableFile(file, "mend it").read(["a"])


def test_lists_are_counted_while_they_are_read(tmp_path, monkeypatch):
    values = np.zeros(10**6, dtype=np.int64)
    write_table(tmp_path / "a.parquet", {"a": Lists(values, pointers=np.arange(0, 10**6 + 1, 10**3))})
    monkeypatch.setattr(files, "MAX_GIGABYTES", 0.007)
    with pytest.raises(InputError, match=r"asks for 0.00801 GB of memory"):
        TableFile(tmp_path / "a.parquet", "mend it").read(["a"])
    monkeypatch.setattr(files, "MAX_GIGABYTES", 0.009)
    found = TableFile(tmp_path / "a.parquet", "mend it").read(["a"])["a"]
    assert np.array_equal(found.values, values) and len(found.pointers) == 1001


# Two columns


def pairs(file, **options):
    return PairTable(file, "mend it", texts=(True, True), **options)


def test_words_are_read_without_space_and_with_empty_cells(tmp_path):
    (tmp_path / "a.csv").write_text('one,two,three\nanna,"b,ø ",x\n7,,x\n')
    table(tmp_path / "a.parquet", one=["anna ", "7"], two=[" b,ø", None], three=["x", "x"])
    for name in ("a.csv", "a.parquet"):
        assert pairs(tmp_path / name, optional=True).words() == [("anna", "b,ø"), ("7", "")]


def test_words_are_numbered_in_the_order_of_the_rows_over_all_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "ROWS", 2)
    file = table(tmp_path / "a.parquet", one=["c", "a", "c", "b "], two=["b", "c", "d", "a"])
    words, rows = pairs(file).numbered()
    assert (words, rows.tolist()) == (["c", "b", "a", "d"], [[0, 1], [2, 0], [0, 3], [1, 2]])


def test_a_table_that_is_none_is_refused(tmp_path):
    def read(name, content):
        (tmp_path / name).write_bytes(content)
        return pairs(tmp_path / name).words()

    check_refused(
        read,
        [
            ("a.csv", b"", "must begin with a line that names its columns"),
            ("a.csv", b"a,b\nx\n", "Expected 2 columns, got 1: x): mend it"),
            ("a.csv", b"a,b\nx,\xff\n", "is not UTF-8 text: mend it"),
            ("a.csv", b"a\xff,b\nx,y\n", "is not UTF-8 text: mend it"),
            ("a.csv", b"1,2\n3,4\n", "begins with the numbers '1,2'"),
            ("a.parquet", b"PAR1 half PAR1", re.compile("damaged or cannot be read .*: mend it")),
            ("a.txt", b"", "unknown form"),
        ],
    )
