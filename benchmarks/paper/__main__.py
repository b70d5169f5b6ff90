"""Reproduce a table or figure of the paper: ``python -m benchmarks.paper table1 --dataset crime``.

Equivalent to ``python -m fairdash reproduce``, with the same options.
"""

import sys

from fairdash.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["reproduce", *sys.argv[1:]]))
