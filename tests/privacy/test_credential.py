"""Credentials: random, of one form, and known to others by their hash."""

import hashlib

from graphveil.privacy.credential import FORM, credential_hash, new_credential


def test_credentials_have_one_form_and_are_all_different():
    drawn = {new_credential() for _ in range(100)}
    assert len(drawn) == 100 and all(FORM.fullmatch(each) for each in drawn)


def test_the_hash_is_that_of_the_characters():
    assert credential_hash("A" * 43) == hashlib.sha256(b"A" * 43).digest()
