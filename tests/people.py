"""What several rooms ask of users."""

from graphveil import Plan


def class_plan(users, epsilon=1.0, classes=2):
    """A question for the class that a small public model gives, with the same list for everybody."""
    return Plan(
        mechanism="krr",
        of="class",
        epsilon=epsilon,
        classes=classes,
        dims=2,
        range=(0, 1),
        users=users,
        model={"kind": "linear", "weights": [[1, 0], [0, 1], [1, 1]], "bias": [0, 0, 0]},
        lists=[list(range(classes))] * len(users),
    )


# A question for one of two classes a user, of the three that a public model gives.
CLASS = {
    "mechanism": "krr",
    "of": "class",
    "epsilon": 1.0,
    "classes": 2,
    "dims": 3,
    "range": (0, 1),
    "users": (2, 0, 3),
    "model": {"kind": "linear", "weights": [[3, -1, 0], [0, 2, 1], [-2, 0, 4]], "bias": [1, 0, -1]},
    "lists": [[2, 0], [1, 2], [0, 1]],
    "offsets": [[0, 1], [0, -4], [9, 0]],
}
