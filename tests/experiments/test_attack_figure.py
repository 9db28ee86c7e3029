"""Figures of campaigns."""

from graphveil.attacks import ATTACKS, AttackPoint, Campaign, Played, Stakes, Tally
from graphveil.experiments.attack_study import CampaignReport

POINTS = tuple(
    AttackPoint(epsilon, (Played(Stakes(2, epsilon), Tally(60, 100), Tally(50, 100)),))
    for epsilon in (0.5, 2.0, 8.0)
)
CAMPAIGN = Campaign(ATTACKS.find("link"), "link-rr", "town", 0, POINTS)


def test_attack_control_chance_and_bound_are_named(tmp_path):
    file = tmp_path / "link.svg"
    CampaignReport(CAMPAIGN).write(file)
    drawn = file.read_text()
    for label in ("attack on link-rr", "the control", "the bound", "chance", "link inference on town"):
        assert f">{label}</text>" in drawn


def test_the_same_campaign_is_the_same_figure(tmp_path):
    for name in ("a.svg", "b.svg"):
        CampaignReport(CAMPAIGN).write(tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
