r"""The actuaries' discrimination-free premium: a model of x and s, averaged over the marginal law of s.

.. math:: h(x) = \int f(x, s) \, dP(s)

It removes the *direct* use of s and no more. What x says about s still moves the premium: a feature that
follows s is paid for as itself, so premiums can differ between groups, and demographic parity is neither
aimed at nor reached.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairdash.dependence.ranks import mid_ranks
from fairdash.training.references.barycentre import Array, fault, one_column, weights

#: f(x, s): a table of n rows and their s (n,) in, predictions (n,) out.
SensitivePredictor = Callable[[Any, Array], ArrayLike]

MAX_NODES = 50


@dataclass(frozen=True, eq=False)
class SensitiveNodes:
    """The marginal law of s, as few weighted values.

    Parameters
    ----------
    values : (m,) array
        In the units of s, increasing.
    shares : (m,) array
        Share of the rows that each stands for; they sum to 1.
    """

    values: Array
    shares: Array


def sensitive_nodes(
    s: ArrayLike, *, sample_weight: ArrayLike | None = None, max_nodes: int = MAX_NODES
) -> SensitiveNodes:
    r"""Represent the law of s by at most `max_nodes` weighted values.

    All distinct values where there are no more than that: the average over s is then exact. Otherwise
    groups of neighbouring ranks, of equal share up to ties, each at its mean. An average of f over these
    nodes is exact where f is linear in s, and off by at most
    :math:`\tfrac12 \max|\partial^2 f / \partial s^2|` times the variance of s within the groups, which
    falls with the square of their number. A jump of f in s, such as a tree's, costs at most twice its height
    over `max_nodes`.

    Parameters
    ----------
    s : (n,) array
        The sensitive attribute of the population, one column.
    sample_weight : (n,) array, optional
        Non-negative; a weight of 2 counts as two copies of the row.
    max_nodes
        At least 1.

    Raises
    ------
    OptionError
        Several columns, missing cells, unusable weights, or no nodes.
    """
    sensitive = one_column(s, "s")
    weight = weights(sample_weight, len(sensitive))
    if max_nodes < 1:
        raise fault("max_nodes", "There is no node to average over", "Ask for at least 1.")
    counted = weight > 0
    sensitive, weight = sensitive[counted], weight[counted]
    distinct, group = np.unique(sensitive, return_inverse=True)
    if len(distinct) > max_nodes:
        slots = np.floor(mid_ranks(sensitive, weight) * max_nodes)
        group = np.unique(slots, return_inverse=True)[1]
    shares: Array = np.bincount(group, weight).astype(float)
    return SensitiveNodes(np.bincount(group, weight * sensitive) / shares, shares)


def discrimination_free(predict: SensitivePredictor, features: Any, nodes: SensitiveNodes) -> Array:
    r"""The discrimination-free premium h(x) = Σⱼ wⱼ f(x, sⱼ) of each row.

    It does not look at the row's own s, and removes the direct use of s only (see the module). Its mean
    differs from that of f where x and s are dependent: an insurer rebalances it.

    Parameters
    ----------
    predict
        f, fitted: ``predict(features, s)`` gives (n,) predictions for s of shape (n,).
    features
        n rows of x, in whatever form `predict` takes.
    nodes
        The law of s in the rows that f was fitted to: ``sensitive_nodes(s)``.

    Returns
    -------
    (n,) array
        In the units of f.

    Raises
    ------
    OptionError
        `predict` gives something other than one finite number a row.

    References
    ----------
    M. Lindholm, R. Richman, A. Tsanakas, M. V. Wüthrich (2022), "Discrimination-free insurance pricing",
    ASTIN Bulletin 52(1), 55–89.
    """
    n_rows = len(features)
    premium = np.zeros(n_rows)
    for value, share in zip(nodes.values, nodes.shares, strict=True):
        part = one_column(predict(features, np.full(n_rows, value)), "predict")
        if len(part) != n_rows:
            raise fault("predict", "It does not give one prediction a row", "Return an array of shape (n,).")
        premium += share * part
    return premium
