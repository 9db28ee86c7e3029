"""A collection's key passes on as a whole: the old one or the new one counts, and the new one is signed by both."""

import json
import os

import pytest

from graphveil.client.keys import KeyChain, holds
from graphveil.collect import keys
from graphveil.collect.keys import (
    SUCCESSIONS,
    KeyRing,
    SigningKey,
    hashed,
    key_file,
    new_secret,
    read_successions,
    rotate_key,
)
from graphveil.errors import InputError


def test_a_rotated_key_is_followed_by_a_device(local):
    public = [local.key.public]
    for number in (1, 2, 3):
        told = local.rotate()
        public.append(local.key.public)
        assert (told.number, told.before, told.after) == (number, public[-2], public[-1])
    chain = KeyChain(local.settings.id, public[0]).followed(local.successions)
    assert chain.keys == tuple(public) and len(set(public)) == 4
    assert [action for _, action, _ in local.actions()].count("rotate") == 3


def test_a_rotated_key_signs_and_the_old_one_is_gone_for_all_who_have_the_folder_open(local):
    folder, old, ring = local.folder, local.key, KeyRing(local.folder)
    before = ring.key.public
    local.rotate()
    assert [file.name for file in sorted(folder.glob("key*"))] == ["key-1"]
    assert os.stat(folder / "key-1").st_mode & 0o777 == os.stat(folder / SUCCESSIONS).st_mode & 0o777 == 0o600
    assert holds(local.key.public, local.key.sign(b"words"), b"words")
    assert not holds(local.key.public, old.sign(b"words"), b"words")
    assert ring.key.public == local.key.public != before and len(ring.successions) == 1


@pytest.mark.parametrize("broken", ["_sync", "SignedSuccession"])
def test_a_change_that_did_not_come_to_its_end_changed_nothing(local, monkeypatch, broken):
    before = local.key.public

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(keys, broken, stop)
        local.rotate()
    assert KeyRing(local.folder).key.public == before
    told = local.rotate()
    assert (told.number, told.before) == (1, before)


def test_a_stop_before_the_old_key_is_deleted_leaves_the_new_one_in_force(local, monkeypatch):
    sync, calls = keys._sync, []

    def stop_at_the_end_of_writing(folder):
        sync(folder)
        calls.append(folder)
        if len(calls) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(keys, "_sync", stop_at_the_end_of_writing)
        local.rotate()
    assert key_file(local.folder, 0).exists()
    assert KeyRing(local.folder).successions[0].statement.after == KeyRing(local.folder).key.public


def test_two_at_once_do_not_change_it_and_time_never_runs_back(local):
    with (
        keys._alone(local.folder),
        pytest.raises(InputError, match="is being changed by somebody else"),
    ):
        local.rotate()
    rotate_key(local.folder, local.settings.id, now=2_000_000_000)
    assert rotate_key(local.folder, local.settings.id, now=5).made == 2_000_000_000


def test_a_key_and_a_list_that_do_not_belong_together_are_refused(local):
    local.rotate()
    first = (local.folder / SUCCESSIONS).read_bytes()
    local.rotate()
    (local.folder / "key-1").write_bytes((local.folder / "key-2").read_bytes())
    (local.folder / SUCCESSIONS).write_bytes(first)
    with pytest.raises(InputError, match="is not the key that successions.json ends with"):
        _ = KeyRing(local.folder).key


@pytest.mark.parametrize(
    "content", ["{", "[1]", "[" * 100_000, json.dumps([{"payload": "", "old": "", "new": ""}])]
)
def test_a_damaged_list_is_said(local, content):
    (local.folder / SUCCESSIONS).write_text(content)
    with pytest.raises(InputError, match="is damaged: restore it from a backup"):
        read_successions(local.folder)


def test_a_key_comes_back_from_its_file_and_signs_what_was_signed_alone(tmp_path):
    key = SigningKey.generate()
    signature = key.sign(b"a question")
    assert holds(key.public, signature, b"a question")
    assert not holds(key.public, signature, b"another")
    assert not holds(SigningKey.generate().public, signature, b"a question")
    key, file = SigningKey.generate(), tmp_path / "key"
    key.write(file)
    assert SigningKey.read(file).public == key.public
    with pytest.raises(FileExistsError):
        SigningKey.generate().write(file)
    assert hashed(b"abc").hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert len({new_secret() for _ in range(100)}) == 100


@pytest.mark.parametrize("content", [b"", b"nothing", None])
def test_what_is_no_key_is_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "key").write_bytes(content)
    with pytest.raises(InputError, match="restore"):
        SigningKey.read(tmp_path / "key")
