"""Fair regression as a scikit-learn estimator.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> age = rng.normal(45, 10, size=300)
>>> x = np.column_stack([age + rng.normal(0, 5, size=300), rng.normal(size=300)])
>>> y = x[:, 0] + 5 * x[:, 1]
>>> model = FairRegressor(lam=3.0, n_epochs=20, warm_up_epochs=5, random_state=0)
>>> model.fit(x, y, sensitive_features=age).predict(x).shape
(300,)
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from fairdash.training.methods import DEFAULT_METHOD
from fairdash.training.regressor_fit import fit_regressor
from fairdash.training.regressor_predict import in_columns, rows_to_predict
from fairdash.training.settings import TrainingSettings

_DEFAULT = TrainingSettings()


class FairRegressor(RegressorMixin, BaseEstimator):
    """A network whose predictions, or whose errors, do not depend on sensitive features.

    It minimises L + λ Ψ (paper, generic optimisation problem): L is the loss, 1 for the constant model, and
    Ψ the method's measure of dependence between U and the sensitive features s. λ = 0 is the standard
    network; the larger λ, the fairer and the less accurate.

    s is learned from, but no predictor sees it. It comes as ``fit(…, sensitive_features=s)``, or lies among
    the columns of X and is named by `sensitive_columns`.

    Parameters
    ----------
    method
        Id in :data:`fairdash.training.methods.METHODS`: which Ψ.
    objective
        ``"demographic_parity"``: U is the prediction ŷ; ``"equalized_residuals"``: U is ŷ − y.
    lam
        Weight λ ≥ 0 of the penalty. The method ``"standard"`` has none, whatever λ.
    sensitive_columns
        Columns of X that are sensitive, by name or by position from 0; None for none. The predictor is
        built on the others.
    random_state
        Seed of the initial weights, the mini-batches and the validation rows.
    device
        ``"auto"``, ``"cpu"``, ``"cuda"`` or ``"mps"``.
    validation_fraction
        Share of the rows to set aside for `patience`; without it, all rows are trained on.
    architecture, hidden, lr, weight_decay, batch_size, n_epochs, warm_up_epochs, adversary_hidden, \
adversary_lr, adversary_steps, dropout, loss, tweedie_power, balance, patience
        As in :class:`fairdash.training.settings.TrainingSettings`.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of X, the sensitive ones included.
    feature_names_in_ : ndarray of str
        Their names, if X was a DataFrame.
    lam_ : float
        The weight λ that was used: 0 for ``"standard"``.
    n_iter_ : int
        Epochs trained.
    best_epoch_ : int
        The epoch whose weights predict: with `patience` the best on the validation rows, else the last.
    device_ : str
        Where it was trained.
    sensitive_names_ : tuple
        The sensitive columns of X: names, or positions where X has none.
    predictor_ : Predictor
        The model, as arrays.

    Notes
    -----
    One model is trained in float64, which takes no longer than float32 (MPS has float32 only). Predictions
    are NumPy's, in float64 and without torch.

    A missing number is replaced by the training rows' median; a missing category has no level, and neither
    has a level that was not there in training, of which :meth:`predict` warns.
    """

    def __init__(
        self,
        *,
        method: str = DEFAULT_METHOD,
        objective: str = "demographic_parity",
        lam: float = 1.0,
        sensitive_columns: str | int | Sequence[str] | Sequence[int] | None = None,
        random_state: int | np.random.RandomState | None = None,
        device: str = "auto",
        validation_fraction: float = 0.1,
        architecture: str = _DEFAULT.architecture,
        hidden: Sequence[int] = _DEFAULT.hidden,
        lr: float = _DEFAULT.lr,
        weight_decay: float = _DEFAULT.weight_decay,
        batch_size: int = _DEFAULT.batch_size,
        n_epochs: int = _DEFAULT.n_epochs,
        warm_up_epochs: int = _DEFAULT.warm_up_epochs,
        adversary_hidden: Sequence[int] = _DEFAULT.adversary_hidden,
        adversary_lr: float = _DEFAULT.adversary_lr,
        adversary_steps: int = _DEFAULT.adversary_steps,
        dropout: float = _DEFAULT.dropout,
        loss: str = _DEFAULT.loss,
        tweedie_power: float = _DEFAULT.tweedie_power,
        balance: bool = _DEFAULT.balance,
        patience: int | None = _DEFAULT.patience,
    ) -> None:
        self.method = method
        self.objective = objective
        self.lam = lam
        self.sensitive_columns = sensitive_columns
        self.random_state = random_state
        self.device = device
        self.validation_fraction = validation_fraction
        self.architecture = architecture
        self.hidden = hidden
        self.lr = lr
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.n_epochs = n_epochs
        self.warm_up_epochs = warm_up_epochs
        self.adversary_hidden = adversary_hidden
        self.adversary_lr = adversary_lr
        self.adversary_steps = adversary_steps
        self.dropout = dropout
        self.loss = loss
        self.tweedie_power = tweedie_power
        self.balance = balance
        self.patience = patience

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Missing features are filled in. A sensitive column of X must be whole.
        tags.input_tags.allow_nan = self.sensitive_columns is None
        return tags

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        sensitive_features: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Train on the rows of X.

        Parameters
        ----------
        X : DataFrame or array, shape (n, p)
            Numbers, or in a DataFrame (of pandas, polars or arrow) also booleans, categories and text.
            Missing cells are allowed.
        y : array, shape (n,)
            Target, not constant; for the losses with a log link 0 or more.
        sensitive_features : array, Series or DataFrame, shape (n,) or (n, d)
            What must not show, as numbers. Needed if λ > 0 and there are no `sensitive_columns`.
        sample_weight : array, shape (n,)
            How much each row counts, such as its exposure: 0 leaves it out, 2 counts it twice.

        Raises
        ------
        OptionError
            An option can't be used, or λ > 0 and no sensitive feature is known.
        DataError
            X, y or the sensitive features can't be used.

        Warns
        -----
        ConvergenceWarning
            The training stopped being finite; the last finite weights predict.
        """
        return fit_regressor(self, X, y, sensitive_features=sensitive_features, sample_weight=sample_weight)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predictions (n,) for the rows of X, in the target's units.

        Columns of a DataFrame are matched by name. Others than those that were fitted are left aside, and
        the sensitive ones may be missing.

        Raises
        ------
        DataError
            A column is missing, or can't be used.

        Warns
        -----
        UserWarning
            Cells hold levels that were not there in training, as many as it says; they count as missing.
        """
        check_is_fitted(self)
        encoder = self.predictor_.encoder
        features = rows_to_predict(
            self, X, columns=encoder.columns, numbers=encoder.numbers, has_text=bool(encoder.categories)
        )
        unknown = encoder.unknown_levels(features)
        if unknown:
            warnings.warn(
                f"Levels that were not there in training count as missing, in: {in_columns(unknown)}.",
                UserWarning,
                stacklevel=2,
            )
        return self.predictor_.predict(features)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file: safetensors with a JSON header, no pickle.

        Raises
        ------
        StorageError
            The file can't be written.
        """
        check_is_fitted(self)
        from fairdash.training.regressor_file import write_regressor

        write_regressor(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """The fitted model that :meth:`save` wrote; its predictions are equal to the last bit.

        Raises
        ------
        StorageError
            The file can't be read, is damaged or of another kind, or a newer version wrote it.
        """
        from fairdash.training.regressor_file import read_regressor

        return read_regressor(cls, path)
