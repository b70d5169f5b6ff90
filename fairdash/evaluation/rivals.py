"""Simple repairs of prices by quantile bands of s, which other methods should at least match."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from fairdash.errors import OptionError
from fairdash.training.references.repair import fit_repair
from fairdash.utils.classes import attributes_of

Array = NDArray[np.float64]

#: Number of bands of s, with about equal numbers of rows. Ties may reduce it.
_BANDS = 10
#: Probabilities at which the quantiles of a band are stored.
_RANKS = np.linspace(0, 1, 201)


class _BandRepair:
    """Repair that uses the distribution of prices in each band of s; it needs s to repair new prices, too.

    Parameters
    ----------
    lam
        Share of the full repair, from 0 to 1.
    """

    lams: ClassVar[tuple[float, ...]] = (0.0, 0.25, 0.5, 0.75, 1.0)
    #: True for a method whose X is a single column: the price to repair.
    repairs: ClassVar[bool] = True
    multivariate: ClassVar[bool] = False

    def __init__(self, lam: float) -> None:
        self.lam = lam

    def fit(self, X: ArrayLike, y: ArrayLike, sensitive_features: ArrayLike) -> Self:  # noqa: ARG002 of a price
        """Fit the quantiles and the average of each band; several columns of s raise an OptionError."""
        price, s = np.ravel(X), _single_column(sensitive_features)
        self.edges_ = np.unique(np.quantile(s, np.arange(1, _BANDS) / _BANDS))
        codes = np.searchsorted(self.edges_, s)
        bands, counts = np.unique(codes, return_counts=True)
        # A band may have no rows because of ties. It then gets the distribution of the next band.
        self.place_ = np.searchsorted(bands, np.arange(len(self.edges_) + 1)).clip(max=len(bands) - 1)
        self.quantiles_ = np.stack([np.quantile(price[codes == code], _RANKS) for code in bands])
        self.means_ = np.array([price[codes == code].mean() for code in bands])
        self.shares_ = counts / counts.sum()
        return self

    def predict(self, X: ArrayLike, sensitive_features: ArrayLike) -> Array:
        """Return the repaired prices (n,)."""
        price = np.ravel(np.asarray(X, dtype=float))
        band = self.place_[np.searchsorted(self.edges_, _single_column(sensitive_features))]
        return (1 - self.lam) * price + self.lam * self._repaired(price, band)

    def _repaired(self, price: Array, band: NDArray[np.intp]) -> Array:
        raise NotImplementedError


class BandBarycentre(_BandRepair):
    """Repair that replaces each price by the barycentre's quantile at the price's rank within its band of s.

    The formula is Theorem 2.3 of Chzhen and others, “Fair regression with Wasserstein barycenters” (2020),
    with bands instead of classes: (Σ_b p_b Q_b) ∘ F_s(price).
    """

    def _repaired(self, price: Array, band: NDArray[np.intp]) -> Array:
        common, repaired = self.shares_ @ self.quantiles_, np.empty_like(price)
        for k, quantiles in enumerate(self.quantiles_):
            rows = band == k
            # A price outside the range of its band keeps its distance from the nearest end of this range.
            excess = price[rows] - price[rows].clip(quantiles[0], quantiles[-1])
            rank = np.interp(price[rows], quantiles, _RANKS)
            repaired[rows] = np.interp(rank, _RANKS, common) + excess
        return repaired


class BandRatio(_BandRepair):
    """Repair that changes a price p to p E[p] / E[p given s], or shifts p if an average is not positive."""

    def _repaired(self, price: Array, band: NDArray[np.intp]) -> Array:
        overall, mean = self.shares_ @ self.means_, self.means_[band]
        return price * overall / mean if self.means_.min() > 0 else price + overall - mean


class Repair:
    """Repair that moves each price to the same rank of a common distribution; ranks depend smoothly on s.

    This is :class:`fairdash.FairPostprocessor` with known s.
    """

    lams, repairs, multivariate = _BandRepair.lams, True, True

    def __init__(self, lam: float) -> None:
        self.lam = lam

    def fit(self, X: ArrayLike, y: ArrayLike, sensitive_features: ArrayLike) -> Self:  # noqa: ARG002 of a price
        """Fit the distribution of prices as a function of s."""
        s = _as_frame(sensitive_features)
        self.attributes_ = list(attributes_of(s).values())
        classes = [len(each) > 1 or s[each[0]].nunique() == 2 for each in self.attributes_]
        self.repair_ = fit_repair(np.ravel(X), self._codes(s), classes=classes)
        return self

    def predict(self, X: ArrayLike, sensitive_features: ArrayLike) -> Array:
        """Return the repaired prices (n,)."""
        s = _as_frame(sensitive_features)
        return self.repair_.predict(np.ravel(X), self._codes(s), self.lam)

    def _codes(self, s: pd.DataFrame) -> Array:
        """Return the columns of s; the classes of an attribute become one column of codes."""
        codes = [s[each].to_numpy(dtype=float) @ np.arange(1, 1 + len(each)) for each in self.attributes_]
        return np.column_stack(codes)


def _as_frame(sensitive_features: Any) -> pd.DataFrame:
    return pd.DataFrame(sensitive_features).rename(columns=str)


def _single_column(sensitive_features: ArrayLike) -> Array:
    s = np.asarray(sensitive_features, dtype=float)
    if s.size != len(s):
        raise OptionError.of(
            "Bands need exactly one sensitive column",
            "Choose one column, or another method.",
            column="sensitive_features",
        )
    return s.ravel()


#: Simple repairs by id. Each entry is a function of the strength that returns an estimator.
RIVALS: Mapping[str, Any] = MappingProxyType(
    {"band_barycentre": BandBarycentre, "band_ratio": BandRatio, "repair": Repair}
)
