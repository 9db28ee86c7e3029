"""Arrays of .npy and .npz files: nothing is allocated or unpacked that the file does not hold."""

import io
import zipfile

import numpy as np
import pytest

from graphveil import InputError
from graphveil.files import read_array, read_arrays
from tests.adversary.damage import headed
from tests.adversary.memory import refused_in_small_memory
from tests.together import together

READ = "from graphveil.files import read_array; read_array(path, 'a row', 'mend it')"
UNPACK = "from graphveil.files import read_arrays; read_arrays(path)"


def test_an_array_comes_back(tmp_path):
    for array in (
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.eye(3)),
        np.array(["ü", "🙂b"]),
        np.array("x", ">U3"),
        np.zeros((0, 4)),
    ):
        np.save(tmp_path / "a.npy", array)
        found = read_array(tmp_path / "a.npy", "a row", "mend it")
        assert np.array_equal(found, array) and found.dtype == array.dtype


@together(
    ("content", "said"),
    [
        (headed((1 << 40,), "<f8"), "should hold 8796093022208 bytes and holds 0: it is damaged"),
        (headed((10**4000,), "<f8"), "should hold an integer of 13291 bits bytes and holds 0"),
        (headed((-1,), "<f8", bytes(8)), "integers of at least 0"),
        (headed((True,), "<f8", bytes(8)), "integers of at least 0"),
        (headed((1,), "|O", bytes(8)), "numbers, booleans or words, got object"),
        (headed((1,), [("secret", "<f8")], bytes(8)), "numbers, booleans or words, got void64"),
        (headed((1,), "<c16", bytes(16)), "got complex128"),
        (headed((3,), "<f8", bytes(16)), "should hold 24 bytes and holds 16"),
        (headed((1,), "<f8", bytes(16)), "should hold 8 bytes and holds 16"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "header of a.npy is too long"),
        (headed((1,), "<U1", b"\xff\xff\xff\x7f"), "is not a row in an .npy file, or is damaged: mend it"),
        (headed((1,), ">U1", b"\x00\x00\xd8\x00"), "is not a row in an .npy file, or is damaged: mend it"),
        (b"0.25,secret", "is not a row in an .npy file, or is damaged: mend it"),
        (b"", "is not a row in an .npy file, or is damaged: mend it"),
    ],
)
def test_a_broken_header_is_refused_and_not_shown(tmp_path, content, said):
    path = tmp_path / "a.npy"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said) as caught:
        read_array(path, "a row", "mend it")
    assert str(path) in str(caught.value) and "secret" not in str(caught.value)


def test_a_sparse_file_of_gigabytes_is_refused(tmp_path):
    path = tmp_path / "a.npy"
    header = headed((5 << 27,), "<f8")
    path.write_bytes(header)
    with open(path, "r+b") as file:
        file.truncate(len(header) + (5 << 30))
    assert "asks for 5.37 GB of memory, more than the 4 GB" in refused_in_small_memory(READ, path)


def packed(path, method, content):
    with zipfile.ZipFile(path, "w", method) as file:
        file.writestr("values.npy", content)


def test_a_way_of_packing_that_unpacks_without_a_limit_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    packed(path, zipfile.ZIP_BZIP2, headed((1 << 26,), "|b1", bytes(1 << 26)))
    assert path.stat().st_size < 1000
    with zipfile.ZipFile(path) as file:
        (told,) = file.infolist()
    # The directory states a small array; the first bytes unpack to 64 MB nevertheless.
    content = path.read_bytes().replace(told.file_size.to_bytes(4, "little"), (1).to_bytes(4, "little"))
    path.write_bytes(content)
    assert "is packed as numpy does not" in refused_in_small_memory(UNPACK, path, megabytes=32)


def test_an_archive_is_not_unpacked_further_than_it_states(tmp_path):
    path = tmp_path / "a.npz"
    stream = io.BytesIO()
    np.save(stream, np.zeros(4))
    packed(path, zipfile.ZIP_DEFLATED, stream.getvalue() + bytes(1 << 28))
    stated, real = len(stream.getvalue()), len(stream.getvalue()) + (1 << 28)
    path.write_bytes(path.read_bytes().replace(real.to_bytes(4, "little"), stated.to_bytes(4, "little")))
    # The checksum is that of the whole.
    assert "is damaged" in refused_in_small_memory(UNPACK, path, megabytes=64)


def test_the_reason_of_a_refusal_fits_the_file(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", values=np.zeros(10**6))
    with pytest.raises(InputError, match=r"asks for 0.008 GB .* 0.001 GB .*: mend it$"):
        read_arrays(tmp_path / "a.npz", 0.001, "an embedding", "mend it")
    with pytest.raises(InputError, match="raise max_gigabytes"):
        read_arrays(tmp_path / "a.npz", 0.001)
