from dataclasses import asdict

import pytest

from pages._ui.colours import (
    ARM_COLOURS,
    ARM_SYMBOLS,
    DARK,
    LIGHT,
    arm_colour,
    arm_symbol,
    contrast,
    ordinal,
    palette,
    text_on,
)

TEXT_USES = ("text", "muted", "accent", "judge", "human", "corrected", "override", "unscored")


def test_contrast_has_the_values_of_its_standard():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert contrast("#123456", "#123456") == 1


@pytest.mark.parametrize("look", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("use", TEXT_USES)
def test_text_colours_can_be_read_on_page_and_panel(look, use):
    colour = asdict(look)[use]
    assert contrast(colour, look.background) >= 4.5
    assert contrast(colour, look.panel) >= 4.5


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("levels", [2, 4, 5, 10])
def test_text_can_be_read_on_every_ordinal_colour(dark, levels):
    fills = ordinal(levels, dark=dark)
    assert len(set(fills)) == levels
    assert all(contrast(text_on(fill), fill) >= 4.5 for fill in fills)


@pytest.mark.parametrize("dark", [False, True])
def test_ordinal_colours_go_steadily_away_from_the_page(dark):
    page = palette(dark).background
    steps = [contrast(fill, page) for fill in ordinal(5, dark=dark)]
    assert steps == sorted(steps)


def test_many_arms_differ_in_colour_or_shape():
    marks = {(arm_colour(i), arm_symbol(i)) for i in range(28)}
    assert len(marks) == len(ARM_COLOURS) * len(ARM_SYMBOLS) == 28


def test_an_arm_keeps_its_mark():
    assert (arm_colour(0), arm_symbol(0)) == ("#E69F00", "circle")
    assert (arm_colour(8), arm_symbol(8)) == ("#56B4E9", "square")
