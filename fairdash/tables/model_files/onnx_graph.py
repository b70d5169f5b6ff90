"""Models in ONNX, a format that contains operators and no program code. onnxruntime runs them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairdash.tables.model_files.model_file import (
    LOG_LOSSES,
    MAX_INPUTS,
    Array,
    Input,
    Link,
    NamedModel,
    as_levels,
    cause,
    number_values,
    unusable_file,
)
from fairdash.utils.text import counted

#: Types of inputs, each with its numpy type. Only float types can represent missing cells and fractions.
_FLOATS = {"tensor(float)": np.float32, "tensor(double)": np.float64}
_NUMBERS = {**_FLOATS, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_}
_TEXT = "tensor(string)"


class OnnxModel(NamedModel):
    """Model in an ONNX file, with the parameters of the other model readers.

    If the model has a single input (n, p), whose name is not a column, the input receives all columns in
    order.
    """

    # The effect of a level that the file does not list depends on the model's operators.
    unknown_level_message, is_listed = "The model does not know {} of “{}”, in {}.", False

    def __init__(self, content: bytes, _: Link = "auto") -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 4
        # Optimisation is off, because it would run parts of the model here, without the time limit.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        try:
            self._session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # The errors of onnxruntime have no common base class.
            raise unusable_file(f"it is not a self-contained ONNX model ({cause(error)})") from error
        self._content, self._held = content, self._session.get_inputs()
        if not 0 < len(self._held) <= MAX_INPUTS:
            raise unusable_file(f"it has {len(self._held)} inputs")
        for item in self._held:
            if item.type not in (*_NUMBERS, _TEXT):
                raise unusable_file(
                    f"its input “{item.name}” is {item.type}, which is neither numbers nor text"
                )
            if item.shape and isinstance(item.shape[0], int):
                rows = counted(item.shape[0], "row")
                raise unusable_file(
                    f"it accepts only {rows} at a time",
                    "Export the model without a fixed number of rows (a free first dimension).",
                )
        self.inputs = tuple(
            Input(item.name, is_text=item.type == _TEXT, form=f"{item.type}, {len(item.shape)}-d")
            for item in self._held
        )
        self.outputs = tuple(output.name for output in self._session.get_outputs())
        self.size = counted(len(content), "byte")
        meta = self._session.get_modelmeta()
        self.kind = f"ONNX ({meta.producer_name or 'no maker named'})"
        loss = _catboost_loss(meta.custom_metadata_map.get("params", ""))
        self.objective, self.response = loss or "not told", "the output of the model, unchanged"
        if loss in LOG_LOSSES:
            self.link, self.response = "log", "a logarithm of the price"
            self.remarks = (
                f"The file contains a CatBoost model with the loss {loss}; its output is a logarithm.",
            )
        elif not loss and self._may_have_a_link(meta.producer_name):
            self.open = self.remarks = (
                "The file does not say whether the model gives the price or, as with a log link, its "
                "logarithm. Name the link, or compare the prices with the model's own predictions "
                "(check_column).",
            )

    def _may_have_a_link(self, producer: str) -> bool:
        """Return whether the file may lack the model's link, as files of trees and of ebm2onnx may."""
        content = self._content
        trees = b"TreeEnsembleRegressor" in content and b"AVERAGE" not in content
        return (trees and b"\x22\x03Exp" not in content) or producer == "ebm2onnx"

    def match(self, columns: Sequence[str] | None, table: Sequence[str], output: str | None) -> None:
        """Find the column of each input, or all columns of a single input in order."""
        names = table if columns is None else columns
        if len(self._held) == 1 and self._held[0].name not in names:
            (single_input,), shape = self.inputs, self._held[0].shape
            width = shape[-1] if len(shape) == 2 and isinstance(shape[-1], int) else len(names)
            self.inputs, self.names_inputs = (single_input,) * width, False
        super().match(columns, table, output)

    def choose(self, output: str | None) -> None:
        """Choose the output that contains the price, and the position of the price in the output's rows."""
        outputs = {output.name: output for output in self._session.get_outputs()}
        outputs_in_text = ", ".join(f"“{name}” ({each.type})" for name, each in outputs.items())
        self._place = None
        if output is None:
            if len(outputs) > 1:
                raise unusable_file(
                    f"it has {len(outputs)} outputs: {outputs_in_text}",
                    "Name the output that contains the price; “NAME[1]” means the second number of each row.",
                )
            output = next(iter(outputs))
        elif output not in outputs and (match := re.fullmatch(r"(.+)\[(\d+)\]", output)):
            output, self._place = match[1], int(match[2])
        if output not in outputs:
            raise unusable_file(f"it has no output “{output}”", f"Its outputs are: {outputs_in_text}.")
        if outputs[output].type not in _FLOATS:
            hint = "Name an output of decimal numbers, or export the model again (skl2onnx: zipmap=False)."
            raise unusable_file(
                f"its output “{output}” is {outputs[output].type}, which is not a price", hint
            )
        self._output = output

    def knows(self, which: Input, level: str) -> bool:
        """Return whether the file contains a level, which is encoded as field number, text length and text.

        Levels are stored in the fields AttributeProto.strings and TensorProto.string_data.
        """
        text = level.encode()
        length = bytes([len(text)]) if len(text) < 128 else bytes([len(text) % 128 + 128, len(text) // 128])
        is_there = any(field + length + text in self._content for field in (b"\x4a", b"\x32"))
        return is_there or not which.is_text

    def values(self, rows: pd.DataFrame) -> list[NDArray[Any]]:
        """Return the values (n,) of each input, with the type of the input."""
        types = self._held if self.names_inputs else self._held * len(self.columns)
        return [
            as_levels(rows[name]) if each.type == _TEXT else number_values(rows[name], _NUMBERS[each.type])
            for name, each in zip(self.columns, types, strict=True)
        ]

    def priced(self, values: list[NDArray[Any]]) -> Array:
        """Return the output (n,) for given values of the inputs."""
        import onnxruntime

        if self.names_inputs:
            fed = {
                item.name: part if len(item.shape) == 1 else part[:, None]
                for item, part in zip(self._held, values, strict=True)
            }
        else:
            fed = {self._held[0].name: np.column_stack(values)}
        run = onnxruntime.RunOptions()
        run.log_severity_level = 4
        try:
            (outputs,) = self._session.run([self._output], fed, run)
        except Exception as error:
            raise unusable_file(f"it can't price the rows ({cause(error)})") from error
        outputs = np.asarray(outputs, dtype=float).reshape(len(values[0]), -1)
        if (self._place is None and outputs.shape[1] > 1) or (self._place or 0) >= outputs.shape[1]:
            hint = f"Name one, such as “{self._output}[0]”."
            raise unusable_file(f"its output “{self._output}” has {outputs.shape[1]} numbers per row", hint)
        return np.asarray(outputs[:, self._place or 0])


def _catboost_loss(params: str) -> str:
    """Return the loss that CatBoost has written into the metadata of a file, or "" if there is none."""
    try:
        return str(json.loads(params)["loss_function"]["type"])
    except (ValueError, KeyError, TypeError):
        return ""
