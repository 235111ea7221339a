"""Ready-made models with their data, one a file."""

from collections.abc import Callable

from probdiff.models.posterior import Posterior
from probdiff.models.zoo.ar5 import ar5
from probdiff.models.zoo.brownian_motion import brownian_motion
from probdiff.models.zoo.correlated_regression import correlated_regression
from probdiff.models.zoo.cox_process import cox_process
from probdiff.models.zoo.data_sets import load
from probdiff.models.zoo.diamonds import diamonds
from probdiff.models.zoo.earn_height import earn_height
from probdiff.models.zoo.eight_schools import eight_schools
from probdiff.models.zoo.eight_schools_centered import eight_schools_centered
from probdiff.models.zoo.garch11 import garch11
from probdiff.models.zoo.gauss_mix import gauss_mix
from probdiff.models.zoo.german_credit import german_credit
from probdiff.models.zoo.german_credit_sparse import german_credit_sparse
from probdiff.models.zoo.gp_poisson import gp_poisson
from probdiff.models.zoo.hmm_drive import hmm_drive
from probdiff.models.zoo.hmm_example import hmm_example
from probdiff.models.zoo.item_response import item_response
from probdiff.models.zoo.kidscore_interaction import kidscore_interaction
from probdiff.models.zoo.kidscore_mom_work import kidscore_mom_work
from probdiff.models.zoo.kidscore_momhsiq import kidscore_momhsiq
from probdiff.models.zoo.kilpisjarvi import kilpisjarvi
from probdiff.models.zoo.logearn_interaction import logearn_interaction
from probdiff.models.zoo.logearn_interaction_z import logearn_interaction_z
from probdiff.models.zoo.logearn_logheight_male import logearn_logheight_male
from probdiff.models.zoo.logmesquite import logmesquite
from probdiff.models.zoo.lotka_volterra import lotka_volterra
from probdiff.models.zoo.mesquite import mesquite
from probdiff.models.zoo.nes import nes
from probdiff.models.zoo.one_compartment import one_compartment
from probdiff.models.zoo.radon import radon
from probdiff.models.zoo.stochastic_volatility import stochastic_volatility

# All models by name.
MODELS: dict[str, Callable[[], Posterior]] = {
    model.__name__: model
    for model in (
        ar5,
        brownian_motion,
        correlated_regression,
        cox_process,
        diamonds,
        earn_height,
        eight_schools,
        eight_schools_centered,
        garch11,
        gauss_mix,
        german_credit,
        german_credit_sparse,
        gp_poisson,
        hmm_drive,
        hmm_example,
        item_response,
        kidscore_interaction,
        kidscore_mom_work,
        kidscore_momhsiq,
        kilpisjarvi,
        logearn_interaction,
        logearn_interaction_z,
        logearn_logheight_male,
        logmesquite,
        lotka_volterra,
        mesquite,
        nes,
        one_compartment,
        radon,
        stochastic_volatility,
    )
}

__all__ = [
    "MODELS",
    "ar5",
    "brownian_motion",
    "correlated_regression",
    "cox_process",
    "diamonds",
    "earn_height",
    "eight_schools",
    "eight_schools_centered",
    "garch11",
    "gauss_mix",
    "german_credit",
    "german_credit_sparse",
    "gp_poisson",
    "hmm_drive",
    "hmm_example",
    "item_response",
    "kidscore_interaction",
    "kidscore_mom_work",
    "kidscore_momhsiq",
    "kilpisjarvi",
    "load",
    "logearn_interaction",
    "logearn_interaction_z",
    "logearn_logheight_male",
    "logmesquite",
    "lotka_volterra",
    "mesquite",
    "nes",
    "one_compartment",
    "radon",
    "stochastic_volatility",
]
