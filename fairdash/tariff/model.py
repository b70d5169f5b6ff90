"""Fair tariff as a scikit-learn estimator.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> age = rng.uniform(18, 80, size=500)
>>> table = pd.DataFrame({"bonus": age / 10 + rng.normal(size=500), "zone": rng.choice(["A", "B"], size=500)})
>>> claims = rng.poisson(0.2 + 0.1 * table["bonus"].clip(0))
>>> tariff = FairTariff(lam=0.1, random_state=0).fit(table, claims, sensitive_features=age)
>>> tariff.relativities().loc[17:, ["factor", "level", "share"]].round(2).to_dict("records")
[{'factor': 'zone', 'level': 'A', 'share': 0.49}, {'factor': 'zone', 'level': 'B', 'share': 0.51}]
>>> from fairdash.tariff.relativities import rate
>>> bool(np.allclose(rate(tariff.relativities(), table), tariff.predict(table), rtol=1e-9))
True
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Mapping, Sequence
from numbers import Integral, Real
from os import PathLike
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fairdash.errors import Checks, OptionError
from fairdash.tariff.choosing import TermOptions, choose_terms, require_fixed
from fairdash.tariff.files import export
from fairdash.tariff.fit import AVERAGES, PENALTIES, FitOptions, fit_terms
from fairdash.tariff.monotone import cost_in_words, monotone_cost
from fairdash.tariff.relativities import in_words, relativities_table
from fairdash.tariff.smoothing import AUTO
from fairdash.tariff.terms import Factor, base_and_values, premiums
from fairdash.training.losses import find_loss
from fairdash.training.objectives import OBJECTIVES
from fairdash.training.regressor_fit import in_columns, rows_to_fit, rows_to_predict, seed_to_fit
from fairdash.utils.registry import get_entry

Array = NDArray[np.float64]


class FairTariff(RegressorMixin, BaseEstimator):
    """A tariff whose premiums, or whose errors, do not depend on sensitive features.

    An additive model: every number has a curve from breakpoint to breakpoint, or bands, every category a
    relativity a level, and pairs of columns may have one a pair. With the losses that have a log link the
    parts multiply, with squared error they add up.

    It minimises L + λ Ψ, as :class:`fairdash.training.regressor.FairRegressor` does: L is the deviance, 1 for
    the constant model, and Ψ a measure of dependence between U and the sensitive features s. λ = 0 is
    scikit-learn's GLM on the same columns, with curves that are smooth; the larger λ, the fairer and the less
    accurate, down to one flat premium (with the penalty ``"averages"``, and no factor fixed).

    s is learned from, but no factor looks at it. It comes as ``fit(…, sensitive_features=s)``, or lies among
    the columns of X and is named by `sensitive_columns`.

    Parameters
    ----------
    loss
        Id in :data:`fairdash.training.losses.LOSSES`: ``"poisson"``, ``"gamma"``, ``"tweedie"`` (log link)
        or ``"squared_error"`` (identity).
    lam
        Weight λ ≥ 0 of the penalty.
    penalty
        Id in :data:`fairdash.tariff.fit.PENALTIES`: the choice of Ψ. ``"averages"`` counts differences of
        premium: first between averages along s, then what other links there are, and ends at one flat
        premium with a large λ; the others count correlations, whatever the size of the differences, and can
        predict worse than a flat premium where claims are weak.
    objective
        ``"demographic_parity"``: U is the prediction ŷ; ``"equalized_residuals"``: U is ŷ − y.
    sensitive_columns
        Columns of X that are sensitive, by name or by position from 0; None for none.
    n_breakpoints
        Breakpoints of a curve, on quantiles of the training rows.
    breakpoints
        Column to breakpoints of one's own; None for none.
    bands
        Column to the inner edges of its bands, or to how many bands of about equal weight; None for none.
    n_bands
        How many bands a number has in an interaction, where `bands` does not say.
    categorical_features
        Columns of numbers whose values are levels; None for none.
    interactions
        Pairs of columns, such as ``[("power", "region")]``; None for none.
    base_levels
        Column to the level, or the number, that has relativity 1; None for those with the most weight: the
        largest level or band, and the breakpoint nearest to the median.
    fixed
        Column to its levels' relativities, such as ``{"region": {"north": 1.0, "south": 1.2}}``, that
        somebody else has settled; None for none. They enter as an offset: every premium is multiplied by
        them, at every λ, and no term is fitted to such a column. Levels may be numbers, and None is that of
        missing cells; each cell of the column needs one. It takes a loss with a log link.
    alpha
        Weight of the squared coefficients, as in scikit-learn's ``TweedieRegressor`` for a target of mean 1
        (squared error: of variance 1): it keeps levels without claims finite.
    smooth
        Weight γ ≥ 0 of the squared second differences of neighbouring breakpoints or bands, on the scale of
        η and beside `alpha` (Eilers and Marx 1996): of all, or column to γ, 0 for the others. ``"auto"`` has
        one a column found by cross-validation (:func:`fairdash.tariff.smoothing.choose_smooth`); it is 0
        below 100 rows.
    monotone
        Column of numbers to +1, where its relativities may only rise, or −1, where they may only fall, such
        as ``{"bonus_level": +1}``; None for none. They hold exactly, at every λ.
    balance
        Whether the training rows' premiums add up to their target, by the base.
    tweedie_power
        Power of the variance for ``loss="tweedie"``, between 1 and 2.
    penalty_rows
        Most training rows that the penalty sees; drawn once.
    max_iter, tol
        As in :class:`fairdash.tariff.fit.FitOptions`.
    random_state
        Seed of the rows that the penalty sees, if there are more than that; nothing else is drawn.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of X, the sensitive ones included.
    feature_names_in_ : ndarray of str
        Their names, if X was a DataFrame.
    terms_ : tuple
        The factors and interactions, as :mod:`fairdash.tariff.terms` has them.
    intercept_, coef_ : float, ndarray of shape (P,)
        η is ``intercept_ + design(terms_, X) @ coef_``, plus the logarithms of fixed relativities.
    glm_intercept_, glm_coef_
        The same at λ = 0.
    smooth_ : dict
        Columns of numbers, their names in the tariff, to the γ that was used.
    monotone_cost_ : DataFrame or None
        What `monotone` costs in deviance, as :func:`fairdash.tariff.monotone.monotone_cost` has it; three
        more fits measure it.
    n_iter_ : int
        Steps of the GLM's fit, and of the descent from there.
    sensitive_names_ : tuple
        The sensitive columns of X: names, or positions where X has none.
    columns_ : dict
        The other columns: their names in the tariff, which are text, to those in X.

    Notes
    -----
    A missing cell is a level of its own if its column has some in training. Levels are text: 3, 3.0 and "3"
    are one. What was not there in training counts as the base, of which :meth:`predict` warns.

    Beside fixed factors no λ ends at one flat premium. A large λ ends at the fixed factors alone, times one
    base, as far as these don't follow s; what follows s in them the other factors then make up for, as far as
    they can. Both may predict worse than one flat premium; that is a consequence of the fixed factors.

    It is fitted on the processor, where 100,000 rows take seconds: in float64, but for the way from the GLM
    where there are more rows than `penalty_rows`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> age = rng.uniform(18, 80, 2000)
    >>> X = pd.DataFrame({"km": rng.uniform(5, 30, 2000) - 0.1 * age})
    >>> claims = rng.poisson(np.exp(-2 + 0.05 * X["km"]))
    >>> tariff = fd.FairTariff(lam=1.0).fit(X, claims, sensitive_features=age)
    >>> bool(abs(tariff.predict(X).sum() / claims.sum() - 1) < 0.01)
    True
    """

    def __init__(
        self,
        *,
        loss: str = "poisson",
        lam: float = 1.0,
        penalty: str = AVERAGES,
        objective: str = "demographic_parity",
        sensitive_columns: str | int | Sequence[str] | Sequence[int] | None = None,
        n_breakpoints: int = 16,
        breakpoints: Mapping[Hashable, Sequence[float]] | None = None,
        bands: Mapping[Hashable, Sequence[float] | int] | None = None,
        n_bands: int = 5,
        categorical_features: Sequence[Hashable] | None = None,
        interactions: Sequence[tuple[Hashable, Hashable]] | None = None,
        base_levels: Mapping[Hashable, Any] | None = None,
        fixed: Mapping[Hashable, Mapping[Any, float]] | None = None,
        alpha: float = 1e-5,
        smooth: float | Mapping[Hashable, float] | Literal["auto"] = AUTO,
        monotone: Mapping[Hashable, int] | None = None,
        balance: bool = True,
        tweedie_power: float = 1.5,
        penalty_rows: int = 20_000,
        max_iter: int = 200,
        tol: float = 1e-4,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.loss = loss
        self.lam = lam
        self.penalty = penalty
        self.objective = objective
        self.sensitive_columns = sensitive_columns
        self.n_breakpoints = n_breakpoints
        self.breakpoints = breakpoints
        self.bands = bands
        self.n_bands = n_bands
        self.categorical_features = categorical_features
        self.interactions = interactions
        self.base_levels = base_levels
        self.fixed = fixed
        self.alpha = alpha
        self.smooth = smooth
        self.monotone = monotone
        self.balance = balance
        self.tweedie_power = tweedie_power
        self.penalty_rows = penalty_rows
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A sensitive column of X must be whole.
        tags.input_tags.allow_nan = self.sensitive_columns is None
        tags.target_tags.positive_only = self.loss != "squared_error"
        return tags

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the tariff to the rows of X.

        Parameters
        ----------
        X : DataFrame or array, shape (n, p)
            Numbers, or in a DataFrame also booleans, categories and text. Missing cells are allowed.
        y : array, shape (n,)
            Target, by unit of exposure where rows have exposures; not constant; with a log link 0 or more.
        sensitive_features : array, Series or DataFrame, shape (n,) or (n, d)
            What must not show, as numbers. Needed if λ > 0 and there are no `sensitive_columns`.
        sample_weight : array, shape (n,)
            Row weights, such as exposures: 0 leaves a row out, 2 counts it twice.

        Raises
        ------
        OptionError
            An option can't be used, or λ > 0 and no sensitive feature is known.
        DataError
            X, y or the sensitive features can't be used.

        Warns
        -----
        ConvergenceWarning
            The descent still had way to go after `max_iter` steps.
        """
        options = self._fit_options()
        given, y, s, weight = rows_to_fit(
            self,
            X,
            y,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            loss=options.loss,
            method=PENALTIES[self.penalty],
            option="penalty",
        )
        features = given.set_axis([str(name) for name in given.columns], axis=1)
        lam = float(self.lam)
        self.terms_ = choose_terms(features, weight, self._term_options())
        # Rows of weight 0 are left out; the user counts them all.
        used = None if np.ndim(each := np.asarray(sample_weight)) == 0 else np.flatnonzero(each)
        require_fixed(self.terms_, features, numbers=used)
        how: dict[str, Any] = {
            "s": s,
            "sample_weight": weight,
            "lams": [0.0, lam] if lam else [0.0],
            "options": options,
            "random_state": seed_to_fit(self.random_state),
        }
        fitted = fit_terms(self.terms_, features, y, **how)
        self.smooth_ = dict(fitted.smooth)
        self.monotone_cost_ = (
            monotone_cost(fitted, self.terms_, features, y, **how) if options.monotone else None
        )
        self.intercept_, self.coef_ = float(fitted.intercept[-1]), fitted.coefficients[-1]
        self.glm_intercept_, self.glm_coef_ = float(fitted.intercept[0]), fitted.coefficients[0]
        steps = int(fitted.n_iter[-1])
        self.n_iter_ = fitted.glm_steps + steps
        self.columns_ = {str(name): name for name in given.columns}
        if not fitted.converged.all():
            warnings.warn(
                f"The tariff did not converge in {steps} steps. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def predict(self, X: Any) -> Array:
        """Premiums (n,) of the rows of X, in the target's units.

        Columns of a DataFrame are matched by name. Further columns are ignored, and the sensitive ones may
        be missing.

        Raises
        ------
        DataError
            A column is missing, or can't be used, or a fixed factor has no relativity for a cell.

        Warns
        -----
        UserWarning
            Cells of other factors hold levels that were not there in training, or are missing where none
            were: they count as the base.
        """
        check_is_fitted(self)
        factors = [term for term in self.terms_ if isinstance(term, Factor)]
        levels = {term.column for term in factors if term.of_levels}
        features = rows_to_predict(
            self,
            X,
            columns=list(self.columns_.values()),
            numbers=[name for text, name in self.columns_.items() if text not in levels],
            has_text=bool(levels),
        )
        features.columns = pd.Index(self.columns_)
        require_fixed(self.terms_, features)
        counts = {term.column: int(term.unknown(features).sum()) for term in factors}
        unknown: dict[Hashable, int] = {name: count for name, count in counts.items() if count}
        if unknown:
            warnings.warn(
                f"Values not seen in training count as the base, in: {in_columns(unknown)}.",
                UserWarning,
                stacklevel=2,
            )
        base, values = base_and_values(
            self.terms_, intercept=np.array([self.intercept_]), coefficients=self.coef_[None]
        )
        return premiums(self.terms_, features, base=base, values=values, multiplies=self._has_log_link)[0]

    def relativities(
        self, *, base: Literal["level", "average"] = "level", unpenalised: bool = False
    ) -> pd.DataFrame:
        """The tariff as a table, from which :func:`fairdash.rate` gives the same premiums as :meth:`predict`.

        Parameters
        ----------
        base
            What has relativity 1 (0 points): a level of each factor, or the average over the training rows
            (with a log link the geometric one). Interactions are always relative to a level; fixed
            relativities stay as they were given, of the kind “fixed”.
        unpenalised
            Whether to give the tariff at λ = 0 of the same factors instead.

        Returns
        -------
        DataFrame
            As :func:`fairdash.tariff.relativities.relativities_table` describes it.
        """
        check_is_fitted(self)
        if base not in ("level", "average"):
            raise OptionError.of("This value is not known", "Choose “level” or “average”.", column="base")
        intercept, coef = (
            (self.glm_intercept_, self.glm_coef_) if unpenalised else (self.intercept_, self.coef_)
        )
        eta, values = base_and_values(
            self.terms_,
            intercept=np.array([intercept]),
            coefficients=coef[None],
            to_average=base == "average",
        )
        return relativities_table(
            self.terms_,
            base=float(eta[0]),
            values=[each[0] for each in values],
            has_log_link=self._has_log_link,
        )

    def formula(self) -> str:
        """Explanation of rating from the table, one sentence per line, with monotone constraints."""
        words = in_words(self.relativities())
        if self.monotone_cost_ is None:
            return words
        return f"{words}\n{cost_in_words(self._fit_options().monotone, self.monotone_cost_)}"

    def export(self, path: str | PathLike[str]) -> None:
        """Write the table of relativities to a ``.csv`` or ``.xlsx``; :func:`fairdash.read_tariff` reads it.

        Raises
        ------
        OptionError
            Another ending.
        StorageError
            The file can't be written.
        """
        export(self.relativities(), path)

    @property
    def _has_log_link(self) -> bool:
        return find_loss(self.loss, tweedie_power=self.tweedie_power).has_log_link

    def _fit_options(self) -> FitOptions:
        """Options of the fit, checked: OptionError naming all that can't be used."""
        get_entry(PENALTIES, self.penalty, option="penalty")
        get_entry(OBJECTIVES, self.objective, option="objective")
        checks = Checks(OptionError)
        for name, least in (("lam", 0), ("alpha", 0), ("tol", 0), ("max_iter", 1), ("penalty_rows", 8)):
            whole = name in ("max_iter", "penalty_rows")
            checks.require(
                _is_at_least(least, getattr(self, name), Integral if whole else Real),
                name,
                "It can't be used",
                f"Give a {'whole ' if whole else ''}number of at least {least}.",
            )
        smooth: Any = self.smooth
        if isinstance(smooth, Mapping):
            smooth = {str(name): each for name, each in smooth.items()}
        weights = smooth.values() if isinstance(smooth, Mapping) else [smooth]
        fits = (isinstance(smooth, str) and smooth == AUTO) or all(_is_at_least(0, each) for each in weights)
        hint = "Give “auto”, a number of at least 0, or one a column."
        checks.require(fits, "smooth", "It can't be used", hint)
        checks.finish()
        names = ("penalty", "objective", "alpha", "balance", "penalty_rows", "max_iter", "tol")
        loss = find_loss(self.loss, tweedie_power=self.tweedie_power)
        monotone = {str(name): sign for name, sign in (self.monotone or {}).items()}
        given = {name: getattr(self, name) for name in names}
        return FitOptions(loss=loss, smooth=smooth, monotone=monotone, **given)

    def _term_options(self) -> TermOptions:
        by_column = {
            option: {str(name): given for name, given in (getattr(self, option) or {}).items()}
            for option in ("breakpoints", "bands", "base_levels", "fixed")
        }
        return TermOptions(
            n_breakpoints=self.n_breakpoints,
            n_bands=self.n_bands,
            categorical_features=[str(name) for name in self.categorical_features or ()],
            interactions=[(str(a), str(b)) for a, b in self.interactions or ()],
            **by_column,
        )


def _is_at_least(least: float, value: Any, kind: Any = Real) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool) and math.isfinite(value) and value >= least
