"""Public files of numbers about attributes: what is read, and how an error names what is wrong."""

import pytest

from graphveil.errors import InputError
from graphveil.methods.heterorr import read_attribute_numbers


@pytest.fixture
def written(tmp_path):
    def write(text):
        file = tmp_path / "numbers.csv"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    return write


@pytest.mark.parametrize("text", ["1\n0\n2.5\n", "1\n0\n2.5", "1\r\n0\r\n2.5\r\n", " 1 \n0\n25e-1\n\n\n"])
def test_one_number_a_line_is_read(written, text):
    assert read_attribute_numbers(written(text), 3, "importance").tolist() == [1.0, 0.0, 2.5]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1\n-1\n2\n", "numbers.csv, line 2 is '-1'"),
        ("1\n2\nnan\n", "numbers.csv, line 3 is 'nan'"),
        ("inf\n2\n3\n", "numbers.csv, line 1 is 'inf'"),
        ("weight\n1\n2\n", "numbers.csv, line 1 is 'weight'"),
        ("1,2\n3\n4\n", "numbers.csv, line 1 is '1,2'"),
        ("1\n\n2\n", "numbers.csv, line 2 is ''"),
        ("1\n2\n", "numbers.csv has 2 lines"),
        ("1\n2\n3\n4\n", "numbers.csv has 4 lines"),
        ("", "numbers.csv has 0 lines"),
        (b"\xff\xfe\x00", "numbers.csv is not UTF-8 text"),
    ],
)
def test_an_error_names_the_file_the_line_and_what_was_expected(written, text, said):
    with pytest.raises(InputError) as refused:
        read_attribute_numbers(written(text), 3, "importance")
    assert said in str(refused.value)
    assert "importance is a file of 3 numbers of at least 0, one a line" in str(refused.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"gone\.txt cannot be read .*: sensitivity is a file of 2 numbers"):
        read_attribute_numbers(tmp_path / "gone.txt", 2, "sensitivity")
