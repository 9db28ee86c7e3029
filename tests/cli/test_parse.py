import pytest

from graphveil.cli.options import parse_settings
from graphveil.errors import InputError
from tests.together import together

LISTS = [
    ("[0.5,0.5]", [0.5, 0.5]),
    ("[ 1, 2, ]", [1, 2]),
    ("[]", []),
    ("[[0, 1], [2]]", [[0, 1], [2]]),
    ("[\"a b\", 'c,d', sage]", ["a b", "c,d", "sage"]),
    ("[true, None, 1e-3]", [True, None, 0.001]),
    ("[-1, +2.5]", [-1, 2.5]),
]


def test_lists_are_read_as_they_are_written():
    read = {text: parse_settings([f"mechanism.shares={text}"]) for text, _ in LISTS}
    assert read == {text: {"mechanism.shares": value} for text, value in LISTS}


NO_LISTS = ["[", "[1", "[1,2", "[1 2]", "[1]]", "[1] x", "[a=b]", "[1,,2]", "[nan]", "['a]", "[" * 5000]


@together("text", NO_LISTS)
def test_what_is_no_list_is_refused_with_the_key_and_an_example(text):
    with pytest.raises(InputError) as refused:
        parse_settings([f"sizes={text}"])
    told = refused.value.as_written
    assert told.startswith("--set sizes takes a list in brackets with commas between its values, got")
    assert told.endswith("for example --set 'sizes=[0.5,0.5]'")
