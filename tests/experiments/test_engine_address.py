import pytest

from graphveil.errors import InputError
from graphveil.experiments.engine import check_address, host_and_port


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("10.0.0.7:6379", ("10.0.0.7", 6379)),
        ("head.example:65535", ("head.example", 65535)),
        ("[fe80::1]:1", ("fe80::1", 1)),
        ("auto", None),
    ],
)
def test_an_address_is_a_host_with_a_port(address, place):
    check_address(address)
    assert host_and_port(address) == place


@pytest.mark.parametrize(
    "address", ["", "head", "head:", ":6379", "head:0", "head:65536", "head:six", "a b:1", "head:1/x", "AUTO"]
)
def test_anything_else_is_refused_with_an_example(address):
    with pytest.raises(InputError, match="is no address: give ray://HOST:PORT .* ray://127.0.0.1:6379"):
        check_address(address)
