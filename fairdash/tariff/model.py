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
from fairdash.tariff.terms import CLAIMS_OF_BASE, MIN_CLAIMS, Factor, base_and_values, is_at_least, premiums
from fairdash.training.losses import find_loss
from fairdash.training.regressor_fit import in_columns, rows_to_fit, rows_to_predict, seed_to_fit
from fairdash.training.settings import OBJECTIVES
from fairdash.utils.registry import get_entry

Array = NDArray[np.float64]


class FairTariff(RegressorMixin, BaseEstimator):
    """Tariff with a penalty on the dependence of its premiums, or of its errors, on sensitive features.

    The tariff is an additive model. A numeric column has a piecewise linear curve, or bands. A category has
    one relativity per level. Pairs of columns may interact. Premiums are products of relativities for losses
    with a log link, and sums of points for squared error.

    Fitting minimises L + λ Ψ, as in :class:`fairdash.training.regressor.FairRegressor`. L is the deviance
    divided by the constant model's deviance. Ψ measures the dependence between U (see `objective`) and the
    sensitive features s. With λ = 0, the tariff is scikit-learn's GLM on the same columns, but curves are
    smooth (`smooth`), and levels with few claims are shrunk towards the base (`credibility`). A larger λ
    gives a fairer and less accurate tariff. With the penalty ``"averages"`` and no fixed factor, a large λ
    makes all premiums equal.

    Fitting uses s, but premiums do not depend on s directly. Pass s as ``fit(…, sensitive_features=s)``, or
    name columns of X in `sensitive_columns`.

    Parameters
    ----------
    loss
        Id in :data:`fairdash.training.losses.LOSSES`: ``"poisson"``, ``"gamma"``, ``"tweedie"`` (log link)
        or ``"squared_error"`` (identity).
    lam
        Weight λ ≥ 0 of the penalty.
    penalty
        Id in :data:`fairdash.tariff.fit.PENALTIES`, which selects Ψ. ``"averages"`` measures differences in
        units of premium. As λ grows, it reduces first differences between average premiums by s, then other
        dependence on s, and finally all differences between premiums. The other penalties reduce correlations
        with s, even if premiums hardly differ, and can predict worse than a flat premium if claims are noisy.
    objective
        ``"demographic_parity"``: U is the prediction ŷ; ``"equalized_residuals"``: U is the residual ŷ − y.
    sensitive_columns
        Sensitive columns of X, by name or by position from 0, or None if X contains none.
    n_breakpoints
        Number of breakpoints of a curve, at quantiles of the training rows.
    breakpoints
        Map of columns to their breakpoints, or None for breakpoints at quantiles.
    bands
        Map of columns to the inner edges of their bands, or to a number of bands of about equal weight. None
        means that no column has bands.
    n_bands
        Number of bands of a numeric column in an interaction, unless `bands` contains the column.
    categorical_features
        Numeric columns to treat as categories, or None if there are none.
    interactions
        Pairs of columns that interact, such as ``[("power", "region")]``, or None for no interactions.
    base_levels
        Map of columns to the level, or the number, with relativity 1. For a column without an entry, the base
        is the level or band with the most weight, or the breakpoint nearest to the median.
    fixed
        Map of columns to the fixed relativities of their levels, such as ``{"region": {"north": 1.0, "south":
        1.2}}``, or None if there are none. Fixed relativities are used as an offset at every λ, and no
        coefficients are fitted for these columns. Levels may be numbers, and the level None stands for
        missing cells. Every cell of a fixed column needs a relativity, and the loss must have a log link.
    alpha
        Weight of the squared coefficients, as in scikit-learn's ``TweedieRegressor`` for a target scaled to
        mean 1 (variance 1 for squared error). A positive α keeps all coefficients finite.
    smooth
        Weight γ ≥ 0 of the squared second differences of a curve's values at neighbouring breakpoints or
        bands, on the scale of η (Eilers and Marx 1996); `alpha` is added to it. Pass one number for all
        columns, or a map of columns to γ (0 for columns not in the map). ``"auto"`` selects γ per column by
        cross-validation (:func:`fairdash.tariff.smoothing.choose_smooth`), or γ = 0 for fewer than 100 rows.
    monotone
        Map of columns to constraints, such as ``{"years": -1, "bonus": ["A", "B", "C"]}``, or None: +1 if the
        relativities of a numeric column may only rise, −1 if they may only fall, or all levels of a category
        in the order in which relativities may only rise. Constraints hold exactly, at every λ.
    credibility
        Number K of artificial claims, at the claim frequency of the base, added to a level, band or pair with
        fewer than 30 rows with a claim (Bühlmann). If the model expects E claims at a level, the observed
        claims have the weight E / (E + K). If K is 0, a level without claims has a relativity near 0.
    balance
        Whether to adjust the base so that the sum of the training rows' premiums equals the sum of targets.
    tweedie_power
        Power of the variance for ``loss="tweedie"``, between 1 and 2.
    penalty_rows
        Maximum number of training rows on which the penalty is computed; these rows are drawn once.
    max_iter, tol
        Same meaning as in :class:`fairdash.tariff.fit.FitOptions`.
    random_state
        Seed of the sample of `penalty_rows`; nothing else in the fit is random.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of X, including sensitive columns.
    feature_names_in_ : ndarray of str
        Names of the columns of X, if X was a DataFrame.
    terms_ : tuple
        Factors and interactions of the tariff, described in :mod:`fairdash.tariff.terms`.
    intercept_, coef_ : float, ndarray of shape (P,)
        η is ``intercept_ + design(terms_, X) @ coef_``, plus the logarithms of fixed relativities.
    glm_intercept_, glm_coef_
        Coefficients of the GLM (λ = 0), for which the same equation holds.
    smooth_ : dict
        Weight γ used for each numeric column, as a map from the column's name in the tariff.
    claims_ : tuple of ndarray
        Number of training rows with a claim (y ≠ 0) for each value of each term; NaN for breakpoints.
    monotone_cost_ : DataFrame or None
        Increase of the deviance due to `monotone`, or None without constraints. The function
        :func:`fairdash.tariff.monotone.monotone_cost` measures it with up to three additional fits.
    n_iter_ : int
        Number of steps of the GLM's fit plus number of steps of the optimiser for λ > 0.
    sensitive_names_ : tuple
        Sensitive columns of X, by name, or by position if X has no column names.
    columns_ : dict
        Map of the tariff's column names, which are strings, to the names of the same columns in X.

    Notes
    -----
    If a column has missing cells in training, they form a separate level. Levels are text: 3, 3.0 and "3" are
    the same level. For levels not seen in training, :meth:`predict` uses the base and warns.

    The penalty ``"pearson"`` uses every sensitive feature separately, so premiums may still depend on a
    combination of features. The penalty ``"jdcov"`` uses combinations of up to three features, ``"ccdcov"``
    uses combinations of all features, and every other penalty uses combinations of two features.

    With fixed factors, no λ makes all premiums equal. If the fixed factors do not depend on s, a large λ
    makes each premium the base times the fixed factors. If the fixed factors depend on s, the other factors
    offset this as far as possible. Fixed factors can make the tariff worse than equal premiums.

    The fit runs on the CPU and takes seconds for 100,000 rows. The fit uses float64; only the optimiser for λ
    > 0 uses float32 if there are more rows than `penalty_rows`.

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
        monotone: Mapping[Hashable, int | Sequence[Any]] | None = None,
        credibility: float = CLAIMS_OF_BASE,
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
        self.credibility = credibility
        self.balance = balance
        self.tweedie_power = tweedie_power
        self.penalty_rows = penalty_rows
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Sensitive columns of X must not have missing cells.
        tags.input_tags.allow_nan = self.sensitive_columns is None
        tags.target_tags.positive_only = self.loss != "squared_error"
        return tags

    def fit(
        self, X: Any, y: ArrayLike, *, sensitive_features: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the tariff to the rows of X.

        Parameters
        ----------
        X : DataFrame or array, shape (n, p)
            Numbers; a DataFrame may also contain booleans, categories and text. Missing cells are allowed.
        y : array, shape (n,)
            Target per unit of exposure; it must not be constant, and must be at least 0 with a log link.
        sensitive_features : array, Series or DataFrame, shape (n,) or (n, d)
            Sensitive features: numbers, or text for classes. Sensitive features are required if λ is above 0
            and `sensitive_columns` is None.
        sample_weight : array, shape (n,)
            Row weights, such as exposures; weight 0 excludes a row, and weight 2 counts the row twice.

        Raises
        ------
        OptionError
            Raised if an option is not valid, or if λ is above 0 and there are no sensitive features.
        DataError
            Raised if X, y or the sensitive features cannot be used.

        Warns
        -----
        ConvergenceWarning
            Raised if the optimiser has not converged after `max_iter` steps.
        """
        options = self._fit_options()
        table, y, s, weight = rows_to_fit(
            self,
            X,
            y,
            sensitive_features=sensitive_features,
            sample_weight=sample_weight,
            loss=options.loss,
            method=PENALTIES[self.penalty],
            option="penalty",
        )
        features = table.set_axis([str(name) for name in table.columns], axis=1)
        lam = float(self.lam)
        self.terms_ = choose_terms(features, weight, self._term_options())
        # Rows of weight 0 are left out of the fit, but row numbers in messages refer to all rows.
        positive = None if np.ndim(weights := np.asarray(sample_weight)) == 0 else np.flatnonzero(weights)
        require_fixed(self.terms_, features, numbers=positive)
        settings: dict[str, Any] = {
            "s": s,
            "sample_weight": weight,
            "lams": [0.0, lam] if lam else [0.0],
            "options": options,
            "random_state": seed_to_fit(self.random_state),
        }
        solution = fit_terms(self.terms_, features, y, **settings)
        self.smooth_, self.claims_ = dict(solution.smooth), solution.claims
        self.monotone_cost_ = (
            monotone_cost(solution, self.terms_, features, y, **settings) if options.monotone else None
        )
        self.intercept_, self.coef_ = float(solution.intercept[-1]), solution.coefficients[-1]
        self.glm_intercept_, self.glm_coef_ = float(solution.intercept[0]), solution.coefficients[0]
        steps = int(solution.n_iter[-1])
        self.n_iter_ = solution.glm_steps + steps
        self.columns_ = {str(name): name for name in table.columns}
        if not solution.converged.all():
            warnings.warn(
                f"The tariff did not converge in {steps} steps. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def predict(self, X: Any) -> Array:
        """Return premiums (n,) for the rows of X, in the target's units.

        Columns of a DataFrame are found by name. Additional columns are ignored; sensitive columns are not
        needed.

        Raises
        ------
        DataError
            Raised if a column is missing or not valid, or if a fixed factor has no relativity for a cell.

        Warns
        -----
        UserWarning
            Raised if a cell has a level not seen in training, or is missing and no cell of its column was
            missing in training. Such cells are treated as the base.
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
            text = f"Values not seen in training are treated as the base, in: {in_columns(unknown)}."
            warnings.warn(text, UserWarning, stacklevel=2)
        base, values = self._rated(self.intercept_, self.coef_)
        return premiums(self.terms_, features, base=base, values=values, multiplies=self._has_log_link)[0]

    def relativities(
        self, *, base: Literal["level", "average"] = "level", unpenalised: bool = False
    ) -> pd.DataFrame:
        """Return the table of relativities; :func:`fairdash.rate` computes the premiums of `predict` from it.

        Parameters
        ----------
        base
            Reference, which has relativity 1 (0 points): ``"level"``, the base level of each factor, or
            ``"average"``, the average over the training rows (geometric with a log link). Interactions always
            refer to base levels. Fixed relativities remain unchanged and have the kind “fixed”.
        unpenalised
            True returns the table of the GLM with the same factors (λ = 0) instead.

        Returns
        -------
        DataFrame
            Table described in :func:`fairdash.tariff.relativities.relativities_table`.
        """
        check_is_fitted(self)
        if base not in ("level", "average"):
            raise OptionError.of("This value is not known", "Choose “level” or “average”.", column="base")
        coefficients = (self.glm_intercept_, self.glm_coef_) if unpenalised else (self.intercept_, self.coef_)
        eta, values = self._rated(*coefficients, base == "average")
        return relativities_table(
            self.terms_,
            base=float(eta[0]),
            values=[of_term[0] for of_term in values],
            claims=self.claims_,
            has_log_link=self._has_log_link,
        )

    def formula(self) -> str:
        """Explain how to compute a premium, and list the values with few claims and the constraints."""
        words = in_words(self.relativities())
        has_few = any((claims < MIN_CLAIMS).any() for claims in self.claims_)
        if has_few and self.credibility:
            words += f"\nThese values get {self.credibility:g} additional claims at the base's frequency."
        if self.monotone_cost_ is not None:
            words += f"\n{cost_in_words(self._fit_options().monotone, self.monotone_cost_)}"
        return words

    def export(self, path: str | PathLike[str]) -> None:
        """Write the table of relativities to a ``.csv`` or ``.xlsx``; :func:`fairdash.read_tariff` reads it.

        Raises
        ------
        OptionError
            Raised if the extension of the file is not supported.
        StorageError
            Raised if the file cannot be written.
        """
        export(self.relativities(), path)

    def _rated(self, intercept: float, coef: Array, to_average: bool = False) -> tuple[Array, list[Array]]:
        """Return the base (1,) of a single tariff, and the values (1, n_values) of each term."""
        eta, coef = np.array([intercept]), coef[None]
        return base_and_values(self.terms_, intercept=eta, coefficients=coef, to_average=to_average)

    @property
    def _has_log_link(self) -> bool:
        return find_loss(self.loss, tweedie_power=self.tweedie_power).has_log_link

    def _fit_options(self) -> FitOptions:
        """Return the options of the fit, or raise an OptionError that lists all invalid options."""
        get_entry(PENALTIES, self.penalty, option="penalty")
        get_entry(OBJECTIVES, self.objective, option="objective")
        checks = Checks(OptionError)
        options = {"lam": 0, "alpha": 0, "credibility": 0, "tol": 0, "max_iter": 1, "penalty_rows": 8}
        for name, minimum in options.items():
            is_integer = name in ("max_iter", "penalty_rows")
            fits = is_at_least(minimum, getattr(self, name), Integral if is_integer else Real)
            hint = f"Give a {'whole ' if is_integer else ''}number of at least {minimum}."
            checks.require(fits, name, "The value is not valid", hint)
        smooth: Any = self.smooth
        smooth = {str(name): v for name, v in smooth.items()} if isinstance(smooth, Mapping) else smooth
        weights = smooth.values() if isinstance(smooth, Mapping) else [smooth]
        fits = (isinstance(smooth, str) and smooth == AUTO) or all(is_at_least(0, v) for v in weights)
        hint = "Give “auto”, a number of at least 0, or a map of columns to numbers of at least 0."
        checks.require(fits, "smooth", "The smoothness is not valid", hint)
        checks.finish()
        names = ("penalty", "objective", "alpha", "credibility", "balance", "penalty_rows", "max_iter", "tol")
        loss = find_loss(self.loss, tweedie_power=self.tweedie_power)
        monotone = {str(name): sign for name, sign in (self.monotone or {}).items()}
        values = {name: getattr(self, name) for name in names}
        return FitOptions(loss=loss, smooth=smooth, monotone=monotone, **values)

    def _term_options(self) -> TermOptions:
        by_column = {
            option: {str(name): value for name, value in (getattr(self, option) or {}).items()}
            for option in ("breakpoints", "bands", "base_levels", "fixed")
        }
        return TermOptions(
            n_breakpoints=self.n_breakpoints,
            n_bands=self.n_bands,
            categorical_features=[str(name) for name in self.categorical_features or ()],
            interactions=[(str(a), str(b)) for a, b in self.interactions or ()],
            **by_column,
        )
