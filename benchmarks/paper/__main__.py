"""Make a table or figure of the paper again: ``python -m benchmarks.paper table1 --dataset crime``.

The same as ``python -m fairdash reproduce``, with its options.
"""

import sys

from fairdash.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["reproduce", *sys.argv[1:]]))
