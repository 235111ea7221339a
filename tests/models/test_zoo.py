"""The zoo against posteriordb: the score identity at reference draws, and the data sets.

At draws from the density exp(f(u)), the score s = f'(u) has mean zero, and E[(u - E u) s] = -1 in each coordinate.
No sampler is needed to see a wrong density or a wrong gradient.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from probdiff.distributions import HalfCauchy, Normal, noncentered
from probdiff.errors import ParameterError
from probdiff.models import Joint, Posterior
from probdiff.models.zoo import eight_schools, kidscore_momhsiq, load

REFERENCE = Path(__file__).parent.parent / "reference" / "posteriordb"
# Two statistics for 14 coordinates: chance puts one outside with probability 2e-4, and the draws are fixed.
STANDARD_ERRORS = 4.5


def reference_draws(name):
    content = json.loads((REFERENCE / name / "draws_thin.json").read_text())
    return content["names"], np.array(content["draws"])


def schools_points():
    names, draws = reference_draws("eight_schools-eight_schools_noncentered")
    assert names == [*(f"theta[{i}]" for i in range(1, 9)), "mu", "tau"]
    return [{"theta": draw[:8], "mu": draw[8], "tau": draw[9]} for draw in draws]


def kidscore_points():
    names, draws = reference_draws("kidiq-kidscore_momhsiq")
    assert names == ["beta[1]", "beta[2]", "beta[3]", "sigma"]
    return [{"beta": draw[:3], "sigma": draw[3]} for draw in draws]


@pytest.mark.parametrize(("model", "points"), [(eight_schools, schools_points), (kidscore_momhsiq, kidscore_points)])
def test_score_identity_at_reference_draws(model, points):
    posterior = model()
    u = np.array([posterior.unconstrain(point) for point in points()])
    score = np.array([posterior.value_and_grad(row)[1] for row in u])
    product = (u - u.mean(axis=0)) * score + 1
    for statistic in (score, product):
        standard_error = statistic.std(axis=0, ddof=1) / np.sqrt(len(u))
        assert np.all(abs(statistic.mean(axis=0)) < STANDARD_ERRORS * standard_error)


def test_the_score_identity_notices_a_wrong_prior():
    """The check is itself checked: with a prior of mu five times too narrow, its score is many standard errors away."""
    data = load("eight_schools")
    prior = Joint(mu=Normal(0, 1), tau=HalfCauchy(5), theta=lambda mu, tau: noncentered(Normal(mu, tau)).iid("school"))
    wrong = Posterior(prior, lambda theta: Normal(theta, data.sigma), data.y, coords={"school": data.school})
    score = np.array([wrong.value_and_grad(wrong.unconstrain(point))[1][0] for point in schools_points()])
    assert abs(score.mean()) > 2 * STANDARD_ERRORS * score.std() / np.sqrt(len(score))


def test_models_have_the_sizes_of_the_reference():
    assert eight_schools().dim == 10
    assert kidscore_momhsiq().dim == 4
    assert kidscore_momhsiq().coordinate_names == ["beta[intercept]", "beta[mom_hs]", "beta[mom_iq]", "sigma"]


def test_data_sets_are_arrays():
    schools = load("eight_schools")
    assert schools.y.tolist() == [28, 8, -3, 7, -1, 1, 18, 12]
    assert schools.y.dtype == float
    assert schools.sigma.shape == schools.school.shape == (8,)
    children = load("kidscore_momhsiq")
    assert children.kid_score.shape == children.mom_hs.shape == children.mom_iq.shape == (434,)


def test_unknown_data_set():
    with pytest.raises(ParameterError) as caught:
        load("nine_schools")
    assert str(caught.value) == "load: there is no data set 'nine_schools'; there are eight_schools, kidscore_momhsiq."
