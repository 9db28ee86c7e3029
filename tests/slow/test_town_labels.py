import graphveil as gv


def test_raw_features_beat_reports_and_reports_beat_their_control():
    """Three runs a part; at ε = 4 each step is worth more than 5 points of F1 in every run."""
    plain = gv.run("nonprivate", "town-labels", runs=3).to_dict()
    private = gv.run("base", "town-labels", epsilon=4.0, runs=3).to_dict()
    steps = zip(plain["runs"], private["runs"], private["control"]["runs"], strict=True)
    assert all(raw > reported + 0.05 > control + 0.1 for raw, reported, control in steps)
    assert private["mean"] > private["structure"]["mean"]
