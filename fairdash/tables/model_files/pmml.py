"""Reader of GLMs in PMML files: GeneralRegressionModel, which R's pmml writes, and RegressionModel.

Specification: https://dmg.org/pmml/v4-4-1/GeneralRegression.html and …/Regression.html. fairdash reads the
link and the offset. It rejects trees, other models and transformations of inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np
from scipy.special import expit, ndtr

from fairdash.tables.model_files.linear import LinearModel, Parts, Term
from fairdash.tables.model_files.model_file import NAME_LINK, Array, Link, unusable_file
from fairdash.utils.text import counted

_INVERSE: dict[str, Callable[[Array], Any]] = {
    "identity": lambda eta: eta,
    "none": lambda eta: eta,
    "log": np.exp,
    "exp": np.exp,
    "logit": expit,
    "softmax": expit,
    "probit": ndtr,
    "cloglog": lambda eta: -np.expm1(-np.exp(eta)),
}
_MODELS_WITHOUT_LINK = ("regression", "generalLinear")
_PRICES_HINT = "Export the model as ONNX, or audit a column of its prices."


class PmmlModel(LinearModel):
    """GLM in a PMML file, with the parameters of the other model readers."""

    def __init__(self, content: bytes, link: Link) -> None:
        try:
            root = ElementTree.fromstring(content)  # noqa: S314 - kind_of has refused entities
        except ElementTree.ParseError as error:
            raise unusable_file(f"it is incomplete PMML ({error})", "Save it again.") from error
        for element in root.iter():
            element.tag = element.tag.rpartition("}")[2]
        models = [element for element in root if element.tag.endswith("Model") or element.tag == "Scorecard"]
        model = models[0] if len(models) == 1 else None
        if model is None or model.tag not in ("GeneralRegressionModel", "RegressionModel"):
            raise unusable_file(
                f"its model is a {models[0].tag if models else 'missing one'}, not a GLM", _PRICES_HINT
            )
        for name in ("LocalTransformations", "TransformationDictionary", "Targets"):
            if (part := next(root.iter(name), None)) is not None and len(part):
                raise unusable_file(
                    f"it transforms inputs or outputs ({name}), which fairdash does not support", _PRICES_HINT
                )
        read = self._general if model.tag == "GeneralRegressionModel" else self._regression
        self.terms = read(model)
        self.kind = f"PMML {root.get('version', '')} ({model.tag})"
        self.objective = (
            model.get("distribution") or model.get("modelType") or model.get("functionName") or ""
        )
        self.size = counted(len(self.terms), "term")
        self.undo = self._inverse(model, link)
        self.take_inputs(self._more_levels(root))

    def _general(self, model: ElementTree.Element) -> list[Term]:
        """Return the terms of a GeneralRegressionModel."""
        if model.get("trialsVariable") or model.get("trialsValue"):
            raise unusable_file("it predicts the number of successes in several trials", _PRICES_HINT)
        factors = {element.get("name", "") for element in model.findall("FactorList/Predictor")}
        covariates = {element.get("name", "") for element in model.findall("CovariateList/Predictor")}
        if (
            len(model.findall("FactorList/Predictor/Categories"))
            or next(model.iter("Matrix"), None) is not None
        ):
            raise unusable_file(
                "it defines contrasts (Matrix), which fairdash does not support", _PRICES_HINT
            )
        parts: dict[str, Parts] = {
            element.get("name", ""): [] for element in model.findall("ParameterList/Parameter")
        }
        for element in model.findall("PPMatrix/PPCell"):
            name, value = element.get("predictorName", ""), element.get("value", "")
            if name not in factors | covariates:
                raise unusable_file(f"its term “{name}” is not an input", _PRICES_HINT)
            parts[element.get("parameterName", "")].append((name, value if name in factors else float(value)))
        betas: dict[str, float] = {}
        for element in model.findall("ParamMatrix/PCell"):
            name = element.get("parameterName", "")
            if name in betas or name not in parts:
                raise unusable_file(
                    "it has several coefficients for one term, as a model of several classes", _PRICES_HINT
                )
            betas[name] = float(element.get("beta", "nan"))
        terms = [(beta, parts[name]) for name, beta in betas.items()]
        if column := model.get("offsetVariable"):
            terms.append((1.0, [(column, 1.0)]))
            self.remarks = (
                f"The model adds the offset “{column}” on the scale of its link. For prices per unit of "
                "exposure, the offset must be 0 in every row.",
            )
        elif model.get("offsetValue"):
            terms.append((float(model.get("offsetValue", "0")), []))
        else:
            self.open = ("Use of an offset in the model's fit. The file names no offset.",)
        return terms

    def _regression(self, model: ElementTree.Element) -> list[Term]:
        """Return the terms of a RegressionModel."""
        tables = model.findall("RegressionTable")
        is_chance = model.get("functionName") == "classification"
        if len(tables) != 1 and not (is_chance and len(tables) == 2 and not len(tables[1])):
            raise unusable_file(
                f"it has {len(tables)} equations, as a model of several classes", _PRICES_HINT
            )
        if next(tables[0].iter("PredictorTerm"), None) is not None:
            raise unusable_file("it has products of inputs (PredictorTerm)", _PRICES_HINT)
        if is_chance:
            self.remarks = (f"The model gives the probability of “{tables[0].get('targetCategory')}”.",)
        terms: list[Term] = [(float(tables[0].get("intercept", "0")), [])]
        for element in tables[0].iter("NumericPredictor"):
            power = float(element.get("exponent", "1"))
            terms.append((float(element.get("coefficient", "nan")), [(element.get("name", ""), power)]))
        for element in tables[0].iter("CategoricalPredictor"):
            beta, value = float(element.get("coefficient", "nan")), element.get("value", "")
            terms.append((beta, [(element.get("name", ""), value)]))
        self.open = ("Use of an offset in the model's fit. The file names no offset.",)
        return terms

    def _inverse(self, model: ElementTree.Element, link: Link) -> Callable[[Array], Any]:
        """Return the inverse of the link function that the file names."""
        if model.tag == "RegressionModel":
            name = model.get("normalizationMethod", "none")
        elif (name := model.get("linkFunction", "")) == "" and model.get("modelType") in _MODELS_WITHOUT_LINK:
            name = "identity"
        if name == "power":
            power = float(model.get("linkParameter", "nan"))
            self.response = f"the price (a power link with exponent {power:g} is inverted)"
            return lambda eta: eta ** (1 / power)
        self.is_price = bool(name)
        if not name and link != "auto":
            name = "identity"
        if not name:
            raise unusable_file("it does not state its link", NAME_LINK)
        if name not in _INVERSE:
            raise unusable_file(f"fairdash does not support its link “{name}”", _PRICES_HINT)
        undone = f"the price (the {name} link is inverted)"
        self.response = "the price (identity link)" if name in ("identity", "none") else undone
        return _INVERSE[name]

    def _more_levels(self, root: ElementTree.Element) -> dict[str, list[str]]:
        """Return the levels of each input in the data dictionary. Some may have no coefficient."""
        levels_of = {}
        for element in root.iter("DataField"):
            name = element.get("name", "")
            valid = [item for item in element.iter("Value") if item.get("property", "valid") == "valid"]
            levels_of[name] = [element.get("value", "") for element in valid]
            if not valid and name in self.with_levels:
                self.open += (f"The base level of “{name}”. The file lists no levels of this factor.",)
        return levels_of
