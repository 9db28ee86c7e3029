"""Tokens and credentials: a token holds a secret and a key, and an error never shows it."""

import hashlib

import pytest

from graphveil import InputError
from graphveil.privacy.credential import FORM, credential_hash, new_credential
from graphveil.privacy.invitation import Invitation

INVITATION = Invitation(b"sixteen bytes...", bytes(range(32)))


def test_a_token_is_read_as_it_was_written_and_does_not_show_itself():
    token = INVITATION.token()
    assert token == "c2l4dGVlbiBieXRlcy4uLg.AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
    assert Invitation.read(f" {token}\n") == INVITATION
    assert INVITATION.secret_word == token.split(".")[0]
    assert repr(INVITATION) == "Invitation(…)"


@pytest.mark.parametrize("wrong", ["", "abc", "a" * 66, INVITATION.token()[:-1], INVITATION.token() + "A"])
def test_what_is_no_token_is_refused_and_not_shown(wrong):
    with pytest.raises(InputError, match="the token is none") as caught:
        Invitation.read(wrong)
    assert not wrong or wrong not in str(caught.value)


def test_credentials_have_one_form_and_are_known_by_their_hash():
    drawn = {new_credential() for _ in range(100)}
    assert len(drawn) == 100 and all(FORM.fullmatch(each) for each in drawn)
    assert credential_hash("A" * 43) == hashlib.sha256(b"A" * 43).digest()
