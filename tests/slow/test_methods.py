"""Every form of a method passes the whole suite; tests/methods tries each in the trials that it may change."""

import pytest

from tests.methods.suite import FORMS, every_trial, run_trial


@pytest.mark.parametrize(
    ("name", "settings", "trial"),
    [
        each
        for name, (chosen, forms) in FORMS.items()
        for settings in forms
        for each in every_trial(name, **settings)
        if each.values[2] not in chosen
    ],
)
def test_other_settings_pass_every_trial(name, settings, trial):
    run_trial(name, settings, trial)
