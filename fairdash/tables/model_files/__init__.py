"""Models in files of other libraries: their type, inputs and predictions."""
