"""What must not change unawares: public names, the command line's words, and what users have on their disks.

The homes in the zip archives were written by the versions that they are named after. The texts are written by
``python -m tests.golden.texts`` where a change of them is meant.
"""
