"""Tariffs that can be filed: additive models of levels, bands, curves and interactions, fair at a weight λ.

``terms`` says what a tariff is made of, ``choosing`` finds it for a table, ``fit`` fits many λ as one stack,
``relativities`` writes the table that rates by itself, ``rating`` rates by it, ``files`` keeps it as CSV and
XLSX, and ``model`` has the estimator. :func:`fairdash.tariff.many.fit_tariffs` fits splits times λ.
"""
