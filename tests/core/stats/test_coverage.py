import numpy as np
import pytest

from benchmarks.simulated import CLUSTER, ROWS, reviewed, study, truth
from core.stats.corrected import corrected_mean
from core.stats.intervals import mean_ci


@pytest.mark.slow
def test_a_corrected_interval_holds_the_truth_as_often_as_it_says():
    right, pi, held, fooled = truth(), np.full(ROWS, 100 / ROWS), 0, 0
    for run in range(400):
        rng = np.random.default_rng([3, run])
        made = study(rng)
        found = corrected_mean(made.f, reviewed(rng, made.y, 100), pi, cluster=CLUSTER).estimate
        held += found.lo <= right <= found.hi
        naive = mean_ci(made.f, cluster=CLUSTER)
        fooled += not naive.lo <= right <= naive.hi
    assert 0.92 <= held / 400 <= 0.98
    assert fooled / 400 > 0.8
