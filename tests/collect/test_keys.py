"""Keys: signatures, files, and secrets."""

import pytest

from graphveil.client.keys import holds
from graphveil.collect.keys import SigningKey, hashed, new_secret
from graphveil.errors import InputError


def test_a_signature_holds_for_what_was_signed_alone():
    key = SigningKey.generate()
    signature = key.sign(b"a question")
    assert holds(key.public, signature, b"a question")
    assert not holds(key.public, signature, b"another")
    assert not holds(SigningKey.generate().public, signature, b"a question")


def test_a_key_comes_back_from_its_file_and_is_not_overwritten(tmp_path):
    key, file = SigningKey.generate(), tmp_path / "key"
    key.write(file)
    assert SigningKey.read(file).public == key.public
    with pytest.raises(FileExistsError):
        SigningKey.generate().write(file)


@pytest.mark.parametrize("content", [b"", b"nothing", None])
def test_what_is_no_key_is_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "key").write_bytes(content)
    with pytest.raises(InputError, match="restore"):
        SigningKey.read(tmp_path / "key")


def test_secrets_are_stored_as_their_sha256():
    assert hashed(b"abc").hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert len({new_secret() for _ in range(100)}) == 100
