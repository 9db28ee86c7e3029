"""graphveil advise poisoning: a table and sentences, JSON, and mistakes."""

from __future__ import annotations

TOWN = "--data town --epsilon 2 --set data.users=200 --set data.degree=8"
SHORT = f"{TOWN} --set epochs=2 --share 0.1"


def test_a_table_and_what_it_rests_on(call):
    said = call("advise poisoning", SHORT).words
    assert "10.0%" in said and "exact, from the alphabet and what is refused" in said
    assert "Predictions are measured, in 1 run" in said


def test_json_has_the_bound_of_every_share(call):
    told = call("advise poisoning base", SHORT, "--json").json
    assert told["lines"][1]["moved"] == [0.1 * told["influences"][0]["most"]]


def test_a_share_that_is_none_is_a_mistake(call):
    assert "share" in call("advise poisoning", TOWN, "--share 2", ends=2).err
