"""A small town, users who write down what they are asked, and settings that a command refuses."""

from dataclasses import replace

from graphveil.cli import status
from graphveil.experiments import Experiment
from graphveil.experiments.unit import RunUnit, open_unit
from graphveil.privacy.answering import Recorder

SMALL = {
    "users": 240,
    "features": 16,
    "telling": 4,
    "kinds": 2,
    "neighbourhood": 20,
    "degree": 8.0,
    "labelled": 0.3,
    "validated": 0.2,
}


class Listener(Recorder):
    """Users who answer as usual while plans and reports are written down."""

    @property
    def plans(self):
        return [plan for plan, _ in self.heard]


def opened(method, given=None, part="method", **options):
    """A short run of a method in the small town, or on what is given, before anybody is asked."""
    terms = {"epsilon": 8.0, "data_options": None if given else SMALL, **options}
    settings = {"epochs": 2, "hidden": 8, **terms.pop("settings", {})}
    spec = Experiment.of(method, "given" if given else "town", settings=settings, **terms)
    return open_unit(RunUnit(spec, part, given=given))


def heard(ready):
    """The outcome, and who was asked what."""
    listener = Listener(ready.job.users)
    return ready.method.run(replace(ready.job, users=listener)), listener


def asked_nobody(ready):
    """Run a method that refuses: nothing may be charged."""
    try:
        ready.method.run(ready.job)
    finally:
        assert not ready.ledger.charges


def check_settings_refused(command, wrong, capsys):
    """Each setting ends the command with status 2 and an error that says such words."""
    taken = []
    for setting, words in wrong:
        found = status([*command, "--set", setting])
        said = capsys.readouterr().err
        if found != 2 or words not in said:
            taken.append((setting, found, said))
    assert not taken, taken
