"""Readers of model files of other libraries: type, inputs and predictions of the model."""
