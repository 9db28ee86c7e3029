"""Two columns of a table, as CSV or Parquet."""

import pyarrow
import pytest
from pyarrow import parquet

from graphveil import InputError
from graphveil.graphs import tables as pair_table
from graphveil.graphs.tables import PairTable
from tests.together import together


def test_words_are_read_without_space_and_with_empty_cells(tmp_path):
    (tmp_path / "a.csv").write_text('one,two,three\nanna, "b,ø" ,x\n7,,x\n'.replace(' "b,ø" ', '"b,ø "'))
    expected = [("anna", "b,ø"), ("7", "")]
    assert PairTable(tmp_path / "a.csv", "mend it", texts=(True, True), optional=True).words() == expected
    columns = {"one": ["anna ", "7"], "two": [" b,ø", None], "three": ["x", "x"]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    assert PairTable(tmp_path / "a.parquet", "mend it", texts=(True, True), optional=True).words() == expected


def test_words_are_numbered_in_the_order_of_the_rows_over_all_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(pair_table, "ROWS", 2)
    columns = {"one": ["c", "a", "c", "b "], "two": ["b", "c", "d", "a"]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    words, rows = PairTable(tmp_path / "a.parquet", "mend it", texts=(True, True)).numbered()
    assert (words, rows.tolist()) == (["c", "b", "a", "d"], [[0, 1], [2, 0], [0, 3], [1, 2]])


@together(
    ("name", "content", "said"),
    [
        ("a.csv", b"", "must begin with a line that names its columns"),
        ("a.csv", b"a,b\nx\n", r"Expected 2 columns, got 1: x\): mend it"),
        ("a.csv", b"a,b\nx,\xff\n", "is not UTF-8 text: mend it"),
        ("a.csv", b"a\xff,b\nx,y\n", "is not UTF-8 text: mend it"),
        ("a.csv", b"1,2\n3,4\n", "begins with the numbers '1,2'"),
        ("a.parquet", b"PAR1 half PAR1", "damaged or cannot be read .*: mend it"),
        ("a.txt", b"", "unknown form"),
    ],
)
def test_a_table_that_is_none_is_refused(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=said):
        PairTable(tmp_path / name, "mend it", texts=(True, True)).words()
