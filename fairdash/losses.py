"""Differentiable dependence measures for custom torch training loops.

>>> import torch
>>> from fairdash import losses
>>> s = torch.linspace(-1, 1, 200)
>>> u = (s + 0.1 * torch.sin(40 * s)).requires_grad_()
>>> term = losses.pearson(u, s)
>>> term.backward()
>>> round(term.item(), 2), u.grad.shape
(0.99, torch.Size([200]))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairdash.errors import Checks, OptionError
from fairdash.training.methods import METHODS
from fairdash.training.settings import TrainingSettings

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["cca_spline", "chi2_kde", "hgr_spline", "pearson"]


def hgr_spline(u: Tensor, s: Tensor, *, sample_weight: Tensor | None = None) -> Tensor:
    """Return the HGR of u and s in closed form, with local functions of u and splines of the ranks of s.

    Parameters
    ----------
    u : (n,) or (n, 1) tensor
        Predictions of a batch (for demographic parity) or residuals (for equalized residuals), with a
        floating-point type. Gradients flow through u.
    s : (n,) or (n, d) tensor
        Sensitive columns of the same rows. No gradient flows through s.
    sample_weight : (n,) tensor, optional
        Non-negative weights, such as exposures; a row of weight 2 counts as two rows.

    Returns
    -------
    Tensor
        A scalar from 0 to 1. At 0, none of these functions of u is correlated with one of the functions of s.
        At 1, a function of u equals a function of s. Even under independence, the value is above 0: about
        0.24 for a batch of 256 rows and one column, and less for larger batches. Add λ times this term to a
        loss that is divided by the constant model's loss.

    Raises
    ------
    OptionError
        Raised if shapes do not match, or values are not finite.

    Notes
    -----
    The result is the penalty of the method ``"hgr_spline"``
    (:mod:`fairdash.training.penalties.closed_forms`), with s encoded by its ranks within the batch.
    """
    return _term("hgr_spline", u, s, sample_weight)


def cca_spline(u: Tensor, s: Tensor, *, sample_weight: Tensor | None = None) -> Tensor:
    """Return the sum of squared canonical correlations between smooth functions of u and of the ranks of s.

    Parameters
    ----------
    u, s, sample_weight
        Same meaning as in :func:`hgr_spline`.

    Returns
    -------
    Tensor
        A scalar: 0 if none of these functions of u is correlated with one of s, and at most the number of
        functions of s. Rough functions have small weights. Under independence, the term is about 0.04 for
        batches of 256 rows and about 0.005 for batches of 2,048 rows, so use large batches.

    Raises
    ------
    OptionError
        Raised for the same reasons as in :func:`hgr_spline`.
    """
    return _term("cca_spline", u, s, sample_weight)


def chi2_kde(u: Tensor, s: Tensor, *, sample_weight: Tensor | None = None) -> Tensor:
    """Return the χ² divergence of the kernel-smoothed batch from independence (Mary et al., 2019).

    Parameters
    ----------
    u, s, sample_weight
        Same meaning as in :func:`hgr_spline`, except that s has one column. Only the ratios of weights
        matter, and equal weights have no effect. The bandwidth depends on the effective number of rows.

    Returns
    -------
    Tensor
        A scalar of at least 0, without an upper limit; under independence, batches of 256 rows give about
        0.05.

    Raises
    ------
    OptionError
        Raised for the same reasons as in :func:`hgr_spline`, or if there are several sensitive columns.
    """
    return _term("chi2_kde", u, s, sample_weight)


def pearson(u: Tensor, s: Tensor, *, sample_weight: Tensor | None = None) -> Tensor:
    """Return the absolute correlation of u and s, or u's multiple correlation R with several columns of s.

    Parameters
    ----------
    u, s, sample_weight
        Same meaning as in :func:`hgr_spline`.

    Returns
    -------
    Tensor
        A scalar from 0 (no linear link) to 1 (u is linear in s).

    Raises
    ------
    OptionError
        Raised for the same reasons as in :func:`hgr_spline`.
    """
    return _term("pearson", u, s, sample_weight)


def _term(method: str, u: Tensor, s: Tensor, sample_weight: Tensor | None) -> Tensor:
    import torch

    entry = METHODS[method]
    checks = Checks(OptionError)
    columns = s.reshape(len(s), -1) if s.ndim in (1, 2) else s
    n = len(u)
    is_flat = u.ndim == 1 or (u.ndim == 2 and u.shape[1] == 1)
    checks.require(
        is_flat and u.is_floating_point() and n > 1, "u", "Each row needs one number", "Give (n,) floats."
    )
    checks.require(
        s.ndim in (1, 2) and len(s) == n and 0 not in s.shape,
        "s",
        "The rows differ from those of u",
        f"Give {n:,} rows.",
    )
    checks.require(
        columns.ndim != 2 or columns.shape[1] == 1 or entry.multivariate,
        "s",
        f"“{method}” takes one sensitive column",
        "Give one column, or use hgr_spline or pearson.",
    )
    finite = bool(torch.isfinite(s).all())
    checks.require(finite, "s", "Values are missing or infinite", "Leave those rows out.")
    if sample_weight is not None:
        is_valid = sample_weight.shape == (n,) and bool(torch.isfinite(sample_weight).all())
        is_valid = is_valid and bool((sample_weight >= 0).all() and (sample_weight > 0).any())
        checks.require(is_valid, "sample_weight", "Each row needs one weight ≥ 0", "Give (n,) weights.")
    checks.finish()
    weight = None if sample_weight is None else sample_weight.detach().to(u)[None, :, None]
    penalty = entry.penalty_class()
    assert penalty is not None
    rows = columns.detach().to(u)[None]
    encoded = penalty.encode(rows, [torch.arange(n, device=u.device)], weight)
    module = penalty(
        seeds=[0],
        s=encoded,
        which_split=torch.zeros(1, dtype=torch.long, device=u.device),
        settings=TrainingSettings(),
    )
    return module(u.reshape(1, n, 1), encoded, weight)[0]
