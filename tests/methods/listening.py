"""A small town, and users who write down what they are asked."""

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
