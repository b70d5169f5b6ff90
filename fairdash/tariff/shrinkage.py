"""How strongly a tariff's coefficients shrink: what its GLM foretells best for rows held out.

Sixteen breakpoints a number are too many for a thousand policies with a claim in twelve: unshrunk, they
follow chance, and λ has that to fight, too.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.tariff.choosing import TermOptions, choose_terms
from fairdash.tariff.design import design, linear_predictor, offset
from fairdash.tariff.fit import FitOptions, fit_stack
from fairdash.training.baselines import ALPHAS
from fairdash.training.splits import Split
from fairdash.utils.seeds import Stream, rng_of

Array = NDArray[np.float64]

#: Training rows that the comparison takes at most: where there are more, none needs to shrink much.
MOST_ROWS = 30_000


def choose_alpha(
    features: pd.DataFrame,
    y: Array,
    weight: Array | None,
    split: Split,
    *,
    options: FitOptions,
    terms: TermOptions,
    random_state: int,
) -> float:
    """The weight of the squared coefficients, of :data:`fairdash.training.baselines.ALPHAS`.

    Parameters
    ----------
    features
        All rows, clean.
    y, weight
        (n,) target and weights of all rows.
    split
        With validation rows, on which the deviance is compared; the GLMs are fitted to its training rows.
    options
        The fit's; its `alpha` is what is looked for.
    random_state
        Seed of the rows that are taken where there are more than MOST_ROWS.
    """
    train, held_out = split.train, split.validation
    if len(train) > MOST_ROWS:
        train = np.sort(rng_of(Stream.SHRINKAGE_ROWS, random_state).choice(train, MOST_ROWS, replace=False))
    mass = None if weight is None else weight[train]
    found = choose_terms(features.iloc[train], mass, terms)
    x, fixed = design(found, features.iloc[train]), offset(found, features.iloc[train])

    def deviance(alpha: float) -> float:
        fitted = fit_stack(
            x,
            y[train],
            s=None,
            sample_weight=mass,
            lams=[0.0],
            options=replace(options, alpha=alpha),
            random_state=random_state,
            offset=fixed,
        )
        (eta,) = linear_predictor(
            found, features.iloc[held_out], intercept=fitted.intercept, coefficients=fitted.coefficients
        )
        y_pred = np.exp(eta) if options.loss.has_log_link else eta
        return options.loss.mean_deviance(y[held_out], y_pred, None if weight is None else weight[held_out])

    return min(ALPHAS, key=deviance)
