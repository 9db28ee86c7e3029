"""The whole campaign of hostile settings: whatever is asked for is refused or served in time."""

import pytest

from graphveil.mechanisms import names
from tests.adversary.test_limits import found_by_campaign


@pytest.fixture(scope="module")
def campaign():
    return found_by_campaign()


@pytest.mark.parametrize("name", names())
def test_hostile_settings_are_refused_or_served(campaign, name, shows):
    *wrong, whole = campaign[name]
    shows(f"{whole['tried']} settings, {len(wrong)} wrong")
    assert wrong == []
    assert whole["tried"] > 1000
