"""What a user has spent and what volunteers gave, in words."""

from graphveil.privacy.record import Cost, PanelGiven, number


def test_a_cost_in_words():
    words = {
        "ε = 1": Cost(epsilon=1.0),
        "ε = infinite": Cost(epsilon=None),
        "ε = 1, δ = 1e-06": Cost(epsilon=1.0, delta=1e-6),
        "ε = 2 or 4 by level": Cost(epsilon=4.0, per_level=[2.0, 4.0]),
        "ε = 3, 1 of it for norms": Cost(epsilon=3.0, norm=1.0),
    }
    assert [cost.words for cost in words.values()] == list(words)


def test_what_is_printed_is_never_below_what_was_spent():
    assert [number(each) for each in (1.0, 1.0000001, 0.1234561)] == ["1", "1.00001", "0.123457"]


def test_one_volunteer_is_one():
    assert PanelGiven(users=1).words.startswith("1 volunteer gave")
    assert PanelGiven(users=2).words.startswith("2 volunteers gave")
