import re

from graphveil.experiments.engine import check_address, host_and_port
from tests.refusals import check_refused


def test_an_address_is_a_host_with_a_port():
    places = {
        "10.0.0.7:6379": ("10.0.0.7", 6379),
        "head.example:65535": ("head.example", 65535),
        "[fe80::1]:1": ("fe80::1", 1),
        "auto": None,
    }
    for address in places:
        check_address(address)
    assert {address: host_and_port(address) for address in places} == places


def test_anything_else_is_refused_with_an_example():
    addresses = (
        *("", "head", "head:", ":6379", "head:0", "head:65536", "head:six", "a b:1", "head:1/x", "AUTO"),
    )
    words = re.compile("is no address: give ray://HOST:PORT .* ray://127.0.0.1:6379")
    check_refused(check_address, [(address, words) for address in addresses])
