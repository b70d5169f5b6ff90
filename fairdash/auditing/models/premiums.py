"""Models of price or cost for an audit: boosted trees, evaluated on held-out rows, and networks.

Networks show whether results depend on the kind of model. Models are fitted on at most :data:`MAX_ROWS` rows.
The sample and the folds consist of whole units, such as policies, so all rows of a policy are in the same
fold.

Five premiums are derived from a policy's expected cost, μ(x, s) = E[Y|x, s]. Best estimate: μ(x, s). Unaware:
E[μ(x, S)|x], which omits s and lets the features act as proxies. Aware: E_S[μ(x, S)], the mean of μ(x, s)
over the s of all policies (Lindholm, Richman, Tsanakas and Wüthrich 2022). Corrective: the barycentre over s.
Each policy keeps its rank among policies with the same s, and premiums have the same distribution at every s.
Hyperaware: E[corrective premium|x] (Côté, Côté and Charpentier 2025).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

from fairdash.auditing.gaps import Estimate, with_interval
from fairdash.auditing.table import AuditTable
from fairdash.training.losses import LOSSES, Loss
from fairdash.training.references import fit_barycentre, sensitive_nodes
from fairdash.utils.imports import EXTRA_OF, has
from fairdash.utils.seeds import Stream, seed_of
from fairdash.utils.trees import boosted_trees

Array = NDArray[np.float64]
#: Options of scikit-learn's histogram gradient boosting (boosted trees).
Trees = Mapping[str, Any]
Rows = NDArray[np.bool_]

#: Weight of the overall mean, in rows, when the mean of a level is shrunk towards it. The shrunk means order
#: the levels.
_PRIOR_ROWS = 20
#: Premiums by id, ordered from full use of s to no use of s.
PREMIUMS: Mapping[str, str] = MappingProxyType(
    {
        "best_estimate": "Best estimate",
        "unaware": "Unaware",
        "aware": "Aware",
        "hyperaware": "Hyperaware",
        "corrective": "Corrective",
    }
)
#: Ids and names of differences between two premiums of a policy.
DIFFERENCES: Mapping[str, str] = MappingProxyType(
    {
        "proxy_effect": "unaware minus aware",
        "risk_spread": "highest minus lowest best estimate over s",
        "cost_of_parity": "corrective minus best estimate",
    }
)
#: Maximum number of values that represent the distribution of s.
N_NODES = 30
#: Width of the kernel in :func:`corrective_premium`, divided by the usual width for a smooth curve.
_WIDTH_RATIO = 0.25
#: Maximum number of rows for fitting and evaluating models.
MAX_ROWS = 30_000
N_FOLDS = 3


@dataclass(frozen=True, eq=False, kw_only=True)
class Fitted:
    """Fitted model, with the encoder that turns features into its numeric columns.

    A level of a text column becomes the mean of the target among the level's rows, shrunk towards the overall
    mean. In this order, trees find the best split of levels (Fisher 1958). An unknown level becomes the
    overall mean. scikit-learn's TargetEncoder accepts no weights.
    """

    model: Any
    means: dict[str, pd.Series]
    overall: float

    @classmethod
    def of(cls, model: Any, features: pd.DataFrame, y: Array, weight: Array, *extra: Array) -> Fitted:
        """Fit a model of y (n,) to features and additional numeric columns.

        Means are weighted by `weight`.
        """
        overall = float(weight @ y / weight.sum())
        prior_weight = _PRIOR_ROWS * float(weight.mean())
        means = {}
        for name in features:
            if not is_numeric_dtype(features[name]):
                sums = pd.DataFrame({"w": weight, "wy": weight * y}).groupby(features[name].to_numpy()).sum()
                means[str(name)] = (sums["wy"] + prior_weight * overall) / (sums["w"] + prior_weight)
        fitted_model = cls(model=model, means=means, overall=overall)
        model.fit(fitted_model.encode(features, *extra), y, sample_weight=weight)
        return fitted_model

    def encode(self, features: pd.DataFrame, *extra: Array) -> Array:
        """Encode the features, followed by the additional columns, as an (n, k) array."""
        columns = [
            features[name].map(self.means[name]).fillna(self.overall).to_numpy(dtype=float)
            if name in self.means
            else features[name].to_numpy()
            for name in map(str, features)
        ]
        return np.column_stack([*columns, *extra])

    def predict(self, features: pd.DataFrame, *extra: Array) -> Array:
        """Predict rows, (n,)."""
        return np.asarray(self.model.predict(self.encode(features, *extra)), dtype=float)

    def predict_at(self, features: pd.DataFrame, nodes: Array) -> Array:
        """Predict each row K times, (n, K), with the last column set to one of K values."""
        rows = self.encode(features, np.zeros(len(features)))
        predictions = np.empty((len(rows), len(nodes)))
        for k, node in enumerate(nodes):
            rows[:, -1] = node
            predictions[:, k] = self.model.predict(rows)
        return predictions


#: Options of trees for three kinds of targets. A price has little noise given the features, even in a class
#: of 20 rows; a cost is mostly noise; a conditional mean is smooth.
PRICE_TREES: Trees = {"max_leaf_nodes": 31, "min_samples_leaf": 10}
COST_TREES: Trees = {"loss": "poisson", "max_iter": 60, "max_leaf_nodes": 8, "min_samples_leaf": 50}
MEAN_TREES: Trees = {"max_iter": 60}
#: Package that networks need. Without it, trees still give every answer, but networks do not check the trees.
NETWORKS_PACKAGE = "torch"
NO_NETWORKS = (
    "The second kind of model, networks, was left out, because it needs the package torch. "
    f'Install it: pip install "fairdash[{EXTRA_OF[NETWORKS_PACKAGE]}]".'
)
#: `_MIN_ROWS_PER_STEP`: minimum number of rows per mini-batch. `_STEPS_PER_EPOCH`: number of steps. More rows
#: hardly lengthen a step.
_MIN_ROWS_PER_STEP, _STEPS_PER_EPOCH = 256, 40


def fit_trees(
    trees: Trees, features: pd.DataFrame, y: Array, weight: Array, *extra: Array, random_state: int | None
) -> Fitted:
    """Fit boosted trees with the options `trees` to y (n,), using features and additional numeric columns."""
    seed = None if random_state is None else seed_of(Stream.AUDIT_MODELS, random_state)
    return Fitted.of(boosted_trees(**trees, random_state=seed), features, y, weight, *extra)


def out_of_fold(table: AuditTable, y: Array, trees: Trees, *extra: Array, random_state: int | None) -> Array:
    """Predict y (n,) at each row by trees fitted to the rows of the other folds."""
    predictions = np.empty(table.n)
    for fold in folds_of(table):
        targets, weight, *others = (values[~fold] for values in (y, table.weight, *extra))
        model = fit_trees(trees, table.features[~fold], targets, weight, *others, random_state=random_state)
        predictions[fold] = model.predict(table.features[fold], *(values[fold] for values in extra))
    return predictions


def networks_out_of_fold(
    table: AuditTable, y: Array, *extra: Array, loss: str = "squared_error", random_state: int | None
) -> Array:
    """Predict y (n,) out of fold by fairdash's standard networks, which are trained together as a batch."""
    from fairdash.data.dataset import Dataset
    from fairdash.training.device import resolve_device
    from fairdash.training.methods import STANDARD
    from fairdash.training.models import train_models
    from fairdash.training.settings import StackedModel, TrainingSettings, budget_of
    from fairdash.training.splits import Split

    folds = folds_of(table)
    n_learned = min(int((~fold).sum()) for fold in folds)
    batch = max(_MIN_ROWS_PER_STEP, n_learned // _STEPS_PER_EPOCH)
    budget: dict[str, Any] = budget_of(n_learned, batch_size=batch)
    settings = TrainingSettings(loss=loss, **budget)
    seed = seed_of(Stream.AUDIT_MODELS, 0 if random_state is None else random_state)
    # Columns get generated names, because the user may have given a column any name.
    features = pd.concat([table.features.reset_index(drop=True), *map(pd.Series, extra)], axis=1).set_axis(
        [f"x{k}" for k in range(table.features.shape[1] + len(extra))], axis=1
    )
    models = train_models(
        Dataset(
            name="audit",
            features=features,
            target=pd.Series(y, name="y"),
            sensitive=pd.DataFrame({"s": table.sensitive}, dtype=float),
            weight=pd.Series(table.weight, name="weight"),
        ),
        [Split(train=np.flatnonzero(~fold), test=np.flatnonzero(fold)) for fold in folds],
        [StackedModel(STANDARD, 0.0, settings, split=k, seed=seed) for k in range(len(folds))],
        objective="demographic_parity",
        random_state=seed,
        device=resolve_device("cpu"),
    )
    held_out = np.empty(table.n)
    for fold, predictions in zip(folds, models.predictions, strict=True):
        held_out[fold] = predictions[fold]
    return held_out


def folds_of(table: AuditTable) -> list[Rows]:
    """Return the rows of each non-empty fold."""
    fold = table.folds(N_FOLDS)
    return [fold == k for k in range(N_FOLDS) if 0 < (fold == k).sum() < table.n]


SQUARED_ERROR, POISSON = LOSSES["squared_error"], LOSSES["poisson"]


def share_explained(y: Array, predicted: Array, table: AuditTable, loss: Loss = SQUARED_ERROR) -> Estimate:
    """Return 1 − loss of the prediction / loss of the mean: R², or the explained share of the deviance. The
    value is 1 for an exact prediction, and below 0 if the mean predicts better."""
    return relative_gain(y, np.full(table.n, table.mean(y)), predicted, table, loss)


def relative_gain(
    y: Array, base: Array, improved: Array, table: AuditTable, loss: Loss = SQUARED_ERROR
) -> Estimate:
    """Return (loss of `base` − loss of `improved`) / loss of the mean; the interval pairs losses by unit."""
    total_loss = loss.deviances(y, np.full(table.n, table.mean(y)))
    return ratio_of_means(loss.deviances(y, base) - loss.deviances(y, improved), total_loss, table)


def ratio_of_means(part: Array, whole: Array, table: AuditTable) -> Estimate:
    """Return Σ w part / Σ w whole with an interval, from independent units; 0 if Σ w whole is 0."""
    total = float(table.weight @ whole)
    if total <= 0:
        return Estimate.of(0.0, 0.0)
    value = float(table.weight @ part) / total
    return Estimate.of(value, table.error(table.weight * (part - value * whole)) / total)


@dataclass(frozen=True, eq=False, kw_only=True)
class Costs:
    """Expected cost of policies at any s, and the five premiums, scaled to the level of the price.

    Attributes
    ----------
    table
        The rows used.
    cost : (n,) array
        Costs to which the models were fitted, scaled to the mean price.
    at_nodes : (n, K) array
        μ(x, sₖ) at up to 30 values sₖ of s; no model predicts a row on which it was fitted.
    premiums
        Map of the ids in :data:`PREMIUMS` to (n,) arrays; no model predicts a row on which it was fitted.
    random_state
        Seed of the models.
    """

    table: AuditTable
    cost: Array
    at_nodes: Array
    premiums: Mapping[str, Array]
    random_state: int | None = 0

    @cached_property
    def by_networks(self) -> Array | None:
        """Best estimate, (n,), by networks that were not fitted on the rows they predict; None without
        torch."""
        if not has(NETWORKS_PACKAGE):
            return None
        loss = "poisson" if self.cost.min() >= 0 else "squared_error"
        predicted = networks_out_of_fold(
            self.table, self.cost, *self.table.s_columns, loss=loss, random_state=self.random_state
        )
        # Predictions of networks are clipped to the range of the trees' predictions, because the loss may
        # need positive values.
        best = self.premiums["best_estimate"]
        return np.clip(predicted, best.min(), best.max())

    @property
    def reference_values(self) -> Array:
        """Values against which premiums are evaluated: the outcome at the level of the price, or else the
        learned cost."""
        outcome = self.table.outcome
        return self.cost if outcome is None else at_level_of_price(outcome, self.table)

    @property
    def loss(self) -> Loss:
        """Loss of premiums: the Poisson deviance if it is defined for all amounts, otherwise squared
        error."""
        amounts = (*self.premiums.values(), self.table.price)
        fits = self.reference_values.min() >= 0 and min(prices.min() for prices in amounts) > 0
        return POISSON if fits else SQUARED_ERROR

    @property
    def fit(self) -> Estimate:
        """Share of the deviance (or variance) of cost that the best estimate explains on held-out rows."""
        return share_explained(self.reference_values, self.premiums["best_estimate"], self.table, self.loss)

    @property
    def fit_to_cost(self) -> Estimate:
        """Explained share of the learned cost, which has less noise if it is the user's expected cost."""
        loss = self.loss if self.cost.min() >= 0 else SQUARED_ERROR
        return share_explained(self.cost, self.premiums["best_estimate"], self.table, loss)

    @property
    def is_learned(self) -> bool:
        """Return True if the best estimate explains a detectable part of the variation in held-out rows."""
        return self.fit_to_cost.ci_low > 0

    @property
    def fit_networks(self) -> Estimate | None:
        """Fit of the best estimate by networks; None if torch is not installed."""
        predictions = self.by_networks
        return (
            None
            if predictions is None
            else share_explained(self.reference_values, predictions, self.table, self.loss)
        )

    @property
    def differences(self) -> dict[str, Array]:
        """Map of the ids in :data:`DIFFERENCES` to (n,) arrays."""
        premiums = self.premiums
        return {
            "proxy_effect": premiums["unaware"] - premiums["aware"],
            "risk_spread": np.ptp(self.at_nodes, axis=1),
            "cost_of_parity": premiums["corrective"] - premiums["best_estimate"],
        }


def at_level_of_price(cost: Array, table: AuditTable) -> Array:
    """Scale costs by the mean price ÷ mean cost of the portfolio."""
    return cost * (table.mean_price / table.mean(cost))


def learn_costs(
    table: AuditTable, *, tell: Callable[[float], object] = float, random_state: int | None = 0
) -> Costs:
    """Learn the costs of policies from features and s, and compute five premiums; `tell` receives progress.

    The models learn the user's expected cost or, without it, the outcome. The mean of the learned cost must
    be above 0.
    """
    part = table.sampled(MAX_ROWS)
    learned = part.outcome if part.expected_cost is None else part.expected_cost
    assert learned is not None
    cost = at_level_of_price(learned, part)
    nodes, shares = sensitive_nodes(part.sensitive, sample_weight=part.weight, max_nodes=N_NODES)
    at_nodes = np.empty((part.n, len(nodes)))
    by_premium = {name: np.empty(part.n) for name in PREMIUMS}
    folds = folds_of(part)
    for k, test_mask in enumerate(folds):
        tell(k / len(folds))
        training = (
            part.features[~test_mask],
            cost[~test_mask],
            part.weight[~test_mask],
            part.sensitive[~test_mask],
        )
        trees_fitted = fit_trees(_trees_for(cost), *training, random_state=random_state)
        at_nodes[test_mask] = trees_fitted.predict_at(part.features[test_mask], nodes)

        def given_features(values: Array, out: NDArray[np.bool_] = test_mask) -> Array:
            training_part = (part.features[~out], values[~out], part.weight[~out])
            mean = fit_trees(_trees_for(values), *training_part, random_state=random_state)
            # Predictions are limited to the range of the training values, which trees may slightly exceed.
            return np.clip(mean.predict(part.features[out]), values.min(), values.max())

        best = trees_fitted.predict(part.features, part.sensitive)
        corrective = corrective_premium(best, part)
        by_premium["best_estimate"][test_mask] = best[test_mask]
        by_premium["unaware"][test_mask] = given_features(best)
        by_premium["aware"][test_mask] = at_nodes[test_mask] @ shares
        by_premium["hyperaware"][test_mask] = given_features(corrective)
        by_premium["corrective"][test_mask] = corrective[test_mask]
    return Costs(
        table=part,
        cost=cost,
        at_nodes=at_nodes,
        premiums=MappingProxyType(by_premium),
        random_state=random_state,
    )


def _trees_for(y: Array) -> Trees:
    return COST_TREES if y.min() >= 0 else MEAN_TREES


def corrective_premium(best: Array, table: AuditTable, *, learned: Rows | None = None) -> Array:
    """Replace `best` (n,) by values that keep its ranks given s, and have the same distribution at every s.

    The distribution given s is estimated from rows with similar s
    (:func:`fairdash.training.references.fit_barycentre`), with a narrower kernel than for a smooth curve,
    because predictions of trees have steps. `learned` (n,) marks the rows used to learn the distributions;
    the default is all rows.
    """
    rows = np.ones(table.n, dtype=bool) if learned is None else learned
    bandwidth = _WIDTH_RATIO * 1.06 * math.sqrt(1 / 12) * table.n_units**-0.2
    options = {"sample_weight": table.weight[rows], "bandwidth": bandwidth, "classes": bool(table.classes)}
    barycentre = fit_barycentre(best[rows], table.sensitive[rows], **options)
    return np.clip(barycentre.predict(best, table.sensitive), best.min(), best.max())


def share_explained_in_words(costs: Costs) -> str:
    """Return the name of the measure by which models of cost are evaluated."""
    return "share of the deviance" if costs.loss is POISSON else "R²"


def fit_in_words(costs: Costs) -> str:
    """Describe how well trees predict cost on held-out rows."""
    return f"on held-out rows trees explain {with_interval(costs.fit)} of the {loss_in_words(costs)}"


def reason_without_costs(costs: Costs) -> str:
    """Return the reason why an answer that needs learned costs gives no numbers."""
    return (
        f"On held-out rows trees explain no detectable part of the {loss_in_words(costs)} of cost "
        f"({with_interval(costs.fit_to_cost)}), so fairdash gives no figures here."
    )


def loss_in_words(costs: Costs) -> str:
    """Return the name of the quantity of which the best estimate explains a share."""
    return "deviance" if costs.loss is POISSON else "variance"


def points_in_words(each: Estimate) -> str:
    """Format a difference between two shares, with its interval, in percentage points."""
    # Adding 0 turns −0 into 0.
    value, low, high = (f"{round(100 * part, 1) + 0.0:.1f}".replace("-", "−") for part in vars(each).values())
    return f"{value} percentage points ({low} to {high})"


def features_in_words(table: AuditTable) -> str:
    """Return a sentence that lists the features."""
    names_in_text = ", ".join(f"“{name}”" for name in map(str, table.features))
    features_text = (
        "the columns you named" if table.columns.features is not None else "every column without another role"
    )
    return f"The models of price and cost use {features_text}: {names_in_text}."
