"""The fixed numbers, where they are computed."""

import pytest

from app.core.limits import Rate


class TestRate:
    @pytest.mark.parametrize(("scale", "times"), [(1, 10), (1000, 10_000), (0.25, 2), (0.001, 1)])
    def test_the_scale_multiplies_how_often_and_never_gives_zero(self, scale: float, times: int) -> None:
        assert Rate(10, 900).scaled(scale) == Rate(times, 900)
