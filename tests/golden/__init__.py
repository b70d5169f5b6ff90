"""Values that must not change unintentionally: public names, help texts and numbers.

``python -m tests.golden.texts`` writes the texts again after an intended change.
"""
