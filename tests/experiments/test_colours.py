"""Colours: enough contrast by day and by night, and roles that people who see fewer colours tell apart."""

import itertools

import numpy as np
import pytest

from graphveil.experiments.figure import (
    FAINT,
    INK,
    LINES,
    PAPER,
    ROLES,
    SHADE,
    TONES,
    following_mode,
    variables,
)

# How people without one kind of cones see linear colours (Machado, Oliveira, Fernandes 2009, severity 1).
SEEN = {
    "all cones": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}  # fmt: skip
# Distances in CIELAB: about 2 can just be seen side by side.
APART = 15.0


def linear(colour):
    parts = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """The ratio of WCAG 2."""
    dark, light = sorted(float(linear(each) @ [0.2126, 0.7152, 0.0722]) + 0.05 for each in (one, other))
    return light / dark


def lab(rgb):
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    ratio = to_xyz @ np.clip(rgb, 0, 1) / [0.9505, 1.0, 1.089]
    f = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


MODES = ("day", "night")


def test_white_on_black_has_the_largest_contrast_there_is():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


def too_faint(tones, grounds, least):
    """Whose contrast to a ground is below the least, by day or by night."""
    found = {
        (tone.name, ground.name, mode): contrast(getattr(tone, mode), getattr(ground, mode))
        for tone, ground, mode in itertools.product(tones, grounds, MODES)
    }
    return {names: round(ratio, 2) for names, ratio in found.items() if ratio < least}


def test_lines_stand_out_from_the_paper_and_texts_can_be_read():
    # WCAG 2.2, 1.4.11: what is drawn has a contrast of at least 3.
    assert too_faint([*ROLES, *LINES], [PAPER], 3) == {}
    # WCAG 2.2, 1.4.3: small text has a contrast of at least 4.5.
    assert too_faint([INK, FAINT], [PAPER, SHADE], 4.5) == {}


@pytest.mark.parametrize("eyes", SEEN)
def test_roles_differ_for_everybody(eyes):
    near = {}
    for mode in MODES:
        seen = {tone.name: lab(np.array(SEEN[eyes]) @ linear(getattr(tone, mode))) for tone in ROLES}
        for one, other in itertools.combinations(seen, 2):
            distance = float(np.linalg.norm(seen[one] - seen[other]))
            if distance < APART:
                near[one, other, mode] = round(distance, 1)
    assert near == {}


def test_no_two_tones_share_a_name_or_a_colour():
    for values in ({tone.name for tone in TONES}, {tone.day for tone in TONES}):
        assert len(values) == len(TONES)


def test_every_variable_is_set_by_day_and_by_night():
    for tone in TONES:
        assert f"--{tone.name}: {tone.day};" in variables()
        assert f"--{tone.name}: {tone.night};" in variables()
    # Colours without a name stay as they are.
    assert following_mode('<path style="fill: #123456"/>') == '<path style="fill: #123456"/>'
