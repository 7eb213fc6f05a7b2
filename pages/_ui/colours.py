"""The colours and what they mean, everywhere: charts, badges, marks.

A colour never carries a meaning alone; a word, a shape or a hatch says the same. Text colours
have a contrast of at least 4.5 : 1 on their background, marks at least 3 : 1 through their
outline; a test computes both.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Palette:
    """One look, light or dark. Every field but `faint` and `grid` is fit for text."""

    background: str
    panel: str
    text: str
    muted: str
    accent: str
    grid: str
    faint: str
    judge: str
    human: str
    corrected: str
    override: str
    unscored: str
    ordinal_low: str
    ordinal_high: str


LIGHT = Palette(
    background="#ffffff",
    panel="#f5f6f7",
    text="#1c2126",
    muted="#59636d",
    accent="#1f5f8b",
    grid="#dfe3e6",
    faint="#b4bcc4",
    judge="#5f6b76",
    human="#1f62a8",
    corrected="#1c2126",
    override="#8a5a00",
    unscored="#5f6b76",
    ordinal_low="#d3e8e5",
    ordinal_high="#0b4f4a",
)

DARK = Palette(
    background="#14181c",
    panel="#1d2329",
    text="#e8ebee",
    muted="#a3adb6",
    accent="#7ab8e0",
    grid="#343c44",
    faint="#5a646e",
    judge="#a3adb6",
    human="#82b6f0",
    corrected="#e8ebee",
    override="#f0b64a",
    unscored="#a3adb6",
    ordinal_low="#1f3f3d",
    ordinal_high="#a6e3da",
)

ARM_COLOURS = (
    "#E69F00",  # orange
    "#56B4E9",  # sky blue
    "#009E73",  # bluish green
    "#D55E00",  # vermilion
    "#CC79A7",  # reddish purple
    "#0072B2",  # blue
    "#F0E442",  # yellow
)
"""Okabe and Ito's palette, distinguishable with any kind of colour vision. Black is left out:
near-black means "corrected"."""

ARM_SYMBOLS = ("circle", "square", "diamond", "triangle-up")
"""After seven arms the colours come again with the next shape."""

HATCH = "/"


def palette(dark: bool) -> Palette:
    return DARK if dark else LIGHT


def arm_colour(index: int) -> str:
    """The colour of the arm at `index` in the study's order; the same on every page."""
    return ARM_COLOURS[index % len(ARM_COLOURS)]


def arm_symbol(index: int) -> str:
    """The shape that goes with `arm_colour`."""
    return ARM_SYMBOLS[index // len(ARM_COLOURS) % len(ARM_SYMBOLS)]


def ordinal(levels: int, *, dark: bool = False) -> tuple[str, ...]:
    """Colours of one hue for ordered values, from the lowest to the highest."""
    return tuple(shade(i / max(levels - 1, 1), dark=dark) for i in range(levels))


def shade(share: float, *, dark: bool = False) -> str:
    """The colour at `share` of the way from the lowest to the highest value."""
    look = palette(dark)
    share = min(1.0, max(0.0, share))
    pairs = zip(_rgb(look.ordinal_low), _rgb(look.ordinal_high), strict=True)
    return "#" + "".join(f"{round(low + (high - low) * share):02x}" for low, high in pairs)


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, from 1 to 21, as WCAG 2 defines it."""
    brighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def text_on(fill: str) -> str:
    """Black or white, whichever reads better on `fill`; one of them has always 4.5 : 1."""
    return max(("#000000", "#ffffff"), key=lambda colour: contrast(colour, fill))


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _luminance(colour: str) -> float:
    def linear(channel: int) -> float:
        share = channel / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(channel) for channel in _rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
