"""Settings of a collection: what fits, and how they are kept."""

import pytest

from graphveil.collect.folder import CollectionSettings, read_settings, write_settings
from graphveil.errors import InputError
from tests.refusals import check_refused
from tests.together import each

GOOD = {"id": "ab" * 16, "purpose": 'to "learn" — something\nnew', "epsilon": 2.0}
FEATURES = {"dims": 8, "range": (-1.0, 1.0)}


def test_settings_come_back_without_the_database_for_others(tmp_path):
    def check(more):
        settings = CollectionSettings(**GOOD, **more)
        write_settings(tmp_path, settings)
        assert read_settings(tmp_path) == settings
        (tmp_path / "collection.toml").unlink()

    more = [
        {},
        {"delta": 1e-6, "retention": 30, "classes": 4},
        {**FEATURES, "binary": True, "volunteers": True},
        {"database": "postgresql://me:secret@host/name"},
    ]
    each(more, check)
    offered = CollectionSettings(**GOOD, database="postgresql://me:secret@host/name").offered
    assert "secret" not in str(offered) and "database" not in offered
    purpose = 'to \x7f \x1b \U0001f600 "quote" \\ see'
    write_settings(tmp_path, CollectionSettings(id="0" * 32, purpose=purpose, epsilon=1.0))
    assert read_settings(tmp_path).purpose == purpose


def test_settings_that_do_not_fit_are_refused():
    cases = [
        ({"purpose": " "}, "purpose must be a text"),
        ({"epsilon": 0}, "epsilon must be a positive finite number, got 0"),
        ({"delta": 1.0}, "delta must be"),
        ({"dims": 3}, "dims and range belong together"),
        ({"range": (0, 1)}, "dims and range belong together"),
        ({"dims": 3, "range": (1, 0)}, "range"),
        ({"volunteers": True}, "give dims and range"),
        ({"retention": 0}, "retention must be an integer of at least 1"),
    ]
    check_refused(lambda wrong: CollectionSettings(**{**GOOD, **wrong}), cases)


def test_a_file_that_holds_none_is_refused(tmp_path):
    def check(content):
        (tmp_path / "collection.toml").write_text(content)
        with pytest.raises(InputError, match=r"collection\.toml"):
            read_settings(tmp_path)

    each(["nothing", "id = 1", "purpose = 'x'\nepsilon = 1\nid='a'\nother = 2"], check)
