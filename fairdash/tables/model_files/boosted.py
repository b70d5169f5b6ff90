"""Boosted trees in files of LightGBM, XGBoost and CatBoost. A file is read with the library that wrote it."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype

from fairdash.tables.model_files.model_file import (
    LOG_LOSSES,
    NAME_LINK,
    Array,
    Input,
    Link,
    NamedModel,
    as_levels,
    cause,
    coded,
    unusable_file,
)
from fairdash.utils.text import counted, few

#: Objectives with which the prediction is a mean with a log link, a mean without a link, or a probability.
_BY_EXP = "poisson gamma tweedie count:poisson reg:gamma reg:tweedie Poisson Tweedie LogLinQuantile".split()
_AS_IT_IS = (
    "regression regression_l1 huber fair quantile mape reg:squarederror reg:linear reg:absoluteerror "
    "reg:pseudohubererror reg:quantileerror reg:expectileerror reg:squaredlogerror RMSE MAE Quantile Huber "
    "Expectile LogCosh MAPE Lq MultiQuantile RMSEWithUncertainty"
).split()
_CHANCES = (
    "binary cross_entropy multiclass multiclassova reg:logistic binary:logistic multi:softprob Logloss "
    "CrossEntropy MultiClass MultiClassOneVsAll"
).split()
_NO_OFFSET = (
    "Use of an offset or an exposure in training (init_score, base_margin, baseline). Prices are for an "
    "offset of 0."
)
_NO_TARGET = "A transformation of the outcome before training, such as the logarithm."


class _Boosted(NamedModel):
    #: Text for the number that replaces a missing cell, by the position of the numeric input.
    _missing_as: Mapping[int, str] = MappingProxyType({})

    def _name_outputs(self, count: int) -> None:
        self.outputs = ("price",) if count < 2 else tuple(f"class[{k}]" for k in range(count))

    def _scaled(self, objective: str, link: Link, *, is_told: bool = True) -> None:
        """Describe the scale of the predictions of an objective. Raise an error if they are not prices."""
        self.objective = objective or "none"
        self.open = (_NO_OFFSET, *([] if objective in _BY_EXP else [_NO_TARGET]))
        if objective in _BY_EXP:
            self.response, self.is_price = "the price (the log link is inverted)", True
        elif objective in _CHANCES:
            self.response = "a probability"
            self.remarks += (f"The model gives probabilities (objective {objective}).",)
        elif objective in _AS_IT_IS and is_told:
            self.response = "the outcome to which the model was fitted"
        elif objective in ("", *_AS_IT_IS) or "Custom" in objective or "UserDefined" in objective:
            self.response = "raw scores of an objective that the file does not state"
            if link == "auto":
                raise unusable_file(
                    "it does not state its objective, so its output may be a logarithm", NAME_LINK
                )
        else:
            self.response = "no price"
            hint = "Audit a model of a mean, such as Poisson, gamma or Tweedie, or a column of prices."
            raise unusable_file(f"its objective “{objective}” gives no price", hint)

    def unknown_levels(self, rows: pd.DataFrame) -> tuple[str, ...]:
        """Return sentences on missing or unknown levels, and on missing cells that are priced as a number."""
        sentences = list(super().unknown_levels(rows))
        for k, number in self._missing_as.items():
            field, column = self.inputs[k], self.columns[k]
            if not field.has_levels and (count := int(np.isnan(field.values(rows[column])).sum())):
                sentences.append(f"“{column}” is missing in {counted(count, 'row')}, priced as {number}.")
        return tuple(sentences)


class LightGBMModel(_Boosted):
    """Model of LightGBM in the text format that ``save_model`` writes."""

    kind = "LightGBM model (text)"

    def __init__(self, content: bytes, link: Link) -> None:
        import lightgbm

        text = content.decode("utf-8", errors="replace").replace("\r\n", "\n")
        try:
            self._booster = lightgbm.Booster(model_str=text)
            dump = self._booster.dump_model(num_iteration=1)
        except lightgbm.basic.LightGBMError as error:
            raise unusable_file(
                f"it is an incomplete LightGBM model ({cause(error)})", "Save it again."
            ) from error
        lists, names = dump["pandas_categorical"] or (), dump["feature_names"]
        codes = [dump["feature_infos"].get(name, {}).get("values", []) for name in names]
        self._lists = [tuple(as_levels(pd.Series(levels)).tolist()) for levels in lists]
        features, kinds = (
            np.array(" ".join(re.findall(rf"^{key}=(.*)$", text, re.MULTILINE)).split(), dtype=int)
            for key in ("split_feature", "decision_type")
        )
        # Bits 2 and 3 of a split's type state how the split treats a missing cell. If they are 0, the cell is
        # treated as 0.
        as_zero = {*features.tolist()} - {*features[kinds & 12 > 0].tolist()}
        self._missing_as = dict.fromkeys(as_zero, "0, because no training row lacked it (LightGBM)")
        # LightGBM treats an ordered category of pandas as a number, so the file does not show which column is
        # an ordered category. The table shows it.
        self._coded = {k for k, each in enumerate(codes) if each}
        levels_by_column = dict(zip(sorted(self._coded), self._lists, strict=False))
        self._is_open = (
            0 < len(lists) != len(levels_by_column) or len(self._coded) != len(levels_by_column) > 0
        )
        inputs = []
        for k, name in enumerate(names):
            used_codes = sorted(set(codes[k]) - {-1})
            if self._is_open or not used_codes:
                inputs.append(Input(name))
            elif k in levels_by_column:
                inputs.append(coded(name, levels_by_column[k]))
            else:
                inputs.append(Input(name, tuple(map(str, used_codes)), tuple(map(float, used_codes))))
        self.inputs = tuple(inputs)
        count = self._booster.num_model_per_iteration()
        self._name_outputs(count)
        self.size = counted(self._booster.num_trees(), "tree")
        self._scaled(dump.get("objective", "").split(" ")[0], link)
        if self._is_open:
            level_lists = "; ".join(few(levels) for levels in self._lists)
            self.open += (
                f"The columns with the following levels: {level_lists}. fairdash finds them in the table.",
            )

    def settle(self, rows: pd.DataFrame) -> None:
        """Find the column of each list of levels in the file. The list must contain the column's cells."""
        if not self._is_open:
            return
        cells = [set(as_levels(rows[column].dropna())) for column in self.columns]
        texts = {k for k, each in enumerate(self.columns) if not pd.api.types.is_numeric_dtype(rows[each])}
        settings: list[tuple[int, ...]] = [()]
        for levels in self._lists:
            fits = [
                k for k, seen in enumerate(cells) if seen & {*levels} and (k in texts or seen <= {*levels})
            ]
            settings = [(*first, k) for first in settings[:1000] for k in fits if not first or k > first[-1]]
        settings = [names for names in settings if {*names} >= texts | self._coded]
        if len(settings) != 1:
            problem = (
                f"it lists the levels of {counted(len(self._lists), 'column')}, and does not name the columns"
            )
            raise unusable_file(
                problem, "Store the columns that have levels as text, as in the model's training."
            )
        lists = dict(zip(settings[0], self._lists, strict=True))
        self.inputs = tuple(
            coded(each.name, lists[k]) if k in lists else each for k, each in enumerate(self.inputs)
        )
        self._is_open = False

    def priced(self, values: list[NDArray[Any]]) -> Array:
        """Return the prices (n,), or the K outputs of each row (n, K)."""
        return np.asarray(self._booster.predict(np.column_stack(values).astype(float)), dtype=float)


class XGBoostModel(_Boosted):
    """Model of XGBoost in the JSON or UBJSON format that ``save_model`` (``xgb.save`` in R) writes."""

    def __init__(self, content: bytes, link: Link) -> None:
        import xgboost

        self.kind = f"XGBoost model ({'UBJSON' if content[1:2] in b'L{i' else 'JSON'})"
        try:
            self._booster = xgboost.Booster({"nthread": 1}, model_file=bytearray(content))
            dump = json.loads(self._booster.save_raw("json"))
        except xgboost.core.XGBoostError as error:
            hint = "Save it again with save_model under a name that ends with .json or .ubj."
            raise unusable_file(f"XGBoost can't read it ({cause(error)})", hint) from error
        learner, self._data = dump["learner"], xgboost.DMatrix
        objective, parameters = learner["objective"]["name"], learner["learner_model_param"]
        trees = learner["gradient_booster"].get("gbtree", learner["gradient_booster"]).get("model", {})
        names, types = self._booster.feature_names, self._booster.feature_types
        count = int(parameters["num_feature"])
        names = names or [f"f{k}" for k in range(count)]
        self._types = types or ["float"] * count
        cats = trees.get("cats", {}).get("enc", [])
        levels = [_levels_of(cat) for cat in cats] or [()] * count
        self.inputs = tuple(
            coded(name, labels) if labels else Input(name) for name, labels in zip(names, levels, strict=True)
        )
        self._name_outputs(max(int(parameters["num_class"]), int(parameters.get("num_target", 1))))
        splits = [
            (np.array(tree["split_indices"])[inner], np.array(tree["default_left"])[inner])
            for tree in trees.get("trees", [])
            if (inner := np.array(tree["left_children"]) >= 0).any()
        ]
        if splits:
            features, to_left = map(np.concatenate, zip(*splits, strict=True))
            to_right = {*features.tolist()} - {*features[to_left > 0].tolist()}
            self._missing_as = dict.fromkeys(to_right, "the column's largest numbers (XGBoost)")
        n_trees = int(trees.get("gbtree_model_param", {}).get("num_trees", 0))
        self.size = counted(n_trees, "tree") if n_trees else "a line (gblinear)"
        if not n_trees:
            self._missing_as = dict.fromkeys(range(count), "0 (XGBoost's gblinear)")
        # If the training stopped early, only the rounds up to the best round are used, as in XGBRegressor.
        best = self._booster.attr("best_iteration")
        self._range = (0, 0) if best is None or not n_trees else (0, int(best) + 1)
        rounds = len(trees.get("iteration_indptr", [])) - 1
        if best is not None and 0 < self._range[1] < rounds:
            self.remarks = (
                f"The training stopped early: the first {self._range[1]} of {rounds} rounds are used, as by "
                "XGBRegressor. xgboost.Booster uses all rounds.",
            )
        base = [float(number) for number in str(parameters["base_score"]).strip("[]").split(",")]
        # XGBoost stores a custom objective under the name of the squared error, with the default base score.
        self._scaled(objective, link, is_told=objective != "reg:squarederror" or set(base) != {0.5})
        if objective in _BY_EXP and len(base) == 1 and base[0] != 1:
            self.remarks += (
                f"If the training had an offset (base_margin), these prices are {base[0]:.4g} times those of "
                "an offset of 0, because XGBoost adds its base_score. Compare these prices with those of the "
                "model itself.",
            )
        self.open += ("The value of missing cells in the training data, unless it was NaN.",)
        if objective == "reg:squarederror":
            self.open += (
                "Use of a custom objective in training, which XGBoost records as reg:squarederror.",
            )
        self._coded = [field.name for field, kind in zip(self.inputs, self._types, strict=True)
                       if kind == "c" and field.levels is None]  # fmt: skip
        if self._coded:
            self.open += (f"The levels for which the codes of {few(self._coded)} stand.",)

    def priced(self, values: list[NDArray[Any]]) -> Array:
        """Return the prices (n,), or the K outputs of each row (n, K)."""
        from xgboost.core import XGBoostError

        names = self._booster.feature_names
        data = self._data(
            np.column_stack(values).astype(float), feature_names=names,
            feature_types=self._types if self._booster.feature_types else None, enable_categorical=True,
        )  # fmt: skip
        try:
            made: Array = self._booster.predict(data, iteration_range=self._range)
        except XGBoostError as error:
            raise unusable_file(f"it can't price the rows ({cause(error)})") from error
        return made


class CatBoostModel(_Boosted):
    """Model of CatBoost in the binary or JSON format that ``save_model`` writes."""

    def __init__(self, content: bytes, link: Link) -> None:
        import catboost

        form = "cbm" if content.startswith(b"CBM1") else "json"
        self.kind = f"CatBoost model ({form})"
        self._model, self._error = catboost.CatBoost(), catboost.CatBoostError
        try:
            if form == "cbm":
                self._model.load_model(blob=content)
            else:  # CatBoost can read JSON only from a file.
                with tempfile.NamedTemporaryFile(suffix=".json") as file:
                    file.write(content)
                    file.flush()
                    self._model.load_model(file.name, format=form)
            params = json.loads(dict(self._model.get_metadata()).get("params", "{}"))
        except (catboost.CatBoostError, ValueError) as error:
            raise unusable_file(
                f"it is an incomplete CatBoost model ({cause(error)})", "Save it again."
            ) from error
        loss = params.get("loss_function", {})
        of_levels = set(self._model.get_cat_feature_indices())
        if self._model.get_text_feature_indices() or self._model.get_embedding_feature_indices():
            raise unusable_file(
                "it takes texts or embeddings, which fairdash does not support", "Audit its prices."
            )
        names = self._model.feature_names_
        self.inputs = tuple(Input(name, is_text=k in of_levels) for k, name in enumerate(names))
        # A column that lacked no cell in training has no treatment of its own ("AsIs").
        whole = [k for k, how in self._model._get_nan_treatments().items() if how == "AsIs"]
        self._missing_as = dict.fromkeys(whole, "the column's smallest numbers (CatBoost)")
        self.size = counted(self._model.tree_count_, "tree")
        objective = str(loss.get("type", ""))
        self._scaled(objective, link)
        self._form = (
            "Exponent" if objective in (*LOG_LOSSES, "LogLinQuantile")
            else "Probability" if objective in _CHANCES else "RawFormulaVal"
        )  # fmt: skip
        scores = np.ravel(self._model.get_scale_and_bias()[1])
        count = 2 if objective in ("Logloss", "CrossEntropy") else len(scores)
        self._name_outputs(count)
        if of_levels:
            self.open += ("The names of the levels: the file contains only their hashes.",)

    def priced(self, values: list[NDArray[Any]]) -> Array:
        """Return the prices (n,), or the K outputs of each row (n, K)."""
        frame = pd.DataFrame({field.name: cells for field, cells in zip(self.inputs, values, strict=True)})
        try:
            made: Array = self._model.predict(frame, prediction_type=self._form, thread_count=1)
        except self._error as error:
            raise unusable_file(f"it can't price the rows ({cause(error)})") from error
        return made

    def values(self, rows: pd.DataFrame) -> list[NDArray[Any]]:
        """Return the values (n,) of each input. Truth values become 1 and 0, as in CatBoost's training."""
        truths = {name: rows[name].astype("Int64") for name in self.columns if is_bool_dtype(rows[name])}
        return super().values(rows.assign(**truths))

    def unknown_levels(self, rows: pd.DataFrame) -> tuple[str, ...]:
        """Return sentences on levels that are probably unknown. An invented level has the same price."""
        sentences = list(super().unknown_levels(rows))
        values, importance = self.values(rows), self._model.get_feature_importance()
        prices = self.priced(values)
        for k, each in enumerate(self.inputs):
            if not each.is_text or not importance[k]:
                continue
            nowhere = np.full(len(rows), "\x00 no level of any training", dtype=object)
            other = self.priced([*values[:k], nowhere, *values[k + 1 :]])
            prices_agree = pd.Series(np.all(np.reshape(prices == other, (len(rows), -1)), axis=1))
            is_constant = prices_agree.groupby(values[k]).all()
            if levels := sorted(is_constant.index[is_constant & (is_constant.index != "")]):
                count = counted(int(np.isin(values[k], levels).sum()), "row")
                sentences.append(
                    f"{few(levels)} of “{self.columns[k]}” ({count}) are priced like a level that is not "
                    "in the training data."
                )
        return tuple(sentences)


def _levels_of(enc: dict[str, Any]) -> tuple[str, ...]:
    """Return a feature's levels, which XGBoost 3.1 and later store as bytes with offsets or as numbers."""
    if "offsets" not in enc:
        return tuple(as_levels(pd.Series(enc["values"])).tolist())
    content = bytes(value % 256 for value in enc["values"])
    offsets = enc["offsets"]
    return tuple(content[a:b].decode() for a, b in pairwise(offsets))
