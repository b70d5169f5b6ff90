"""What must not change unawares: public names, the command line's words, and numbers.

The texts are written by ``python -m tests.golden.texts`` where a change of them is meant.
"""
