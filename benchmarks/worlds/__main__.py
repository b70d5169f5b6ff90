"""Command of the study: see :mod:`benchmarks.worlds.study`."""

from benchmarks.worlds.study import main

main()
