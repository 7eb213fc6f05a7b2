import pytest

from core.stats.sequential import confidence_sequence_half_width, pocock_alpha
from core.stats.types import ShapeError


def test_more_looks_need_a_smaller_level_each():
    levels = [pocock_alpha(looks) for looks in range(1, 6)]
    assert levels == [0.05, 0.0294, 0.0221, 0.0182, 0.0158]
    for looks in (0, 6):
        with pytest.raises(ShapeError):
            pocock_alpha(looks)


def test_a_confidence_sequence_has_its_golden_half_width():
    assert confidence_sequence_half_width(1, 100, n0=100) == pytest.approx(0.303521, abs=5e-7)
    assert confidence_sequence_half_width(2, 100, n0=100) == pytest.approx(0.607042, abs=1e-6)


def test_a_confidence_sequence_needs_rows_and_a_level():
    for wrong in ({"n": 0, "n0": 1}, {"n": 1, "n0": 0}, {"n": 1, "n0": 1, "alpha": 1}):
        with pytest.raises(ShapeError):
            confidence_sequence_half_width(1, **wrong)
