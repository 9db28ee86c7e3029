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
