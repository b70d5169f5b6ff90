"""Rows that a first look at a large table draws."""

from __future__ import annotations

import doctest
from dataclasses import replace

import numpy as np
import pandas as pd

import fairdash as fd
from fairdash.data import dataset as dataset_module
from fairdash.data.catalogue import load_dataset
from fairdash.data.dataset import FEWEST_GROUPS, draw_rows

DATASET = load_dataset("household", n=3000)


def test_rows_are_different_in_order_and_those_of_the_seed():
    rows = draw_rows(DATASET, 500, random_state=3)
    assert len(rows) == 500
    assert (np.diff(rows) > 0).all()
    assert np.array_equal(rows, draw_rows(DATASET, 500, random_state=3))
    assert not np.array_equal(rows, draw_rows(DATASET, 500, random_state=4))
    # No part of the table is drawn more often: quarters hold about 125 each.
    assert np.abs(np.histogram(rows, 4, (0, 3000))[0] - 125).max() < 40


def test_rows_of_a_policy_come_together():
    policies = np.random.default_rng(0).integers(0, 1200, DATASET.n_rows)
    rows = draw_rows(replace(DATASET, group=pd.Series(policies, name="policy")), 800, random_state=0)
    drawn = np.isin(policies, policies[rows])
    assert drawn.sum() == len(rows)
    assert 800 <= len(rows) < 820


def test_of_a_few_large_groups_rows_are_drawn():
    few = np.arange(DATASET.n_rows) % (FEWEST_GROUPS // 4)
    rows = draw_rows(replace(DATASET, group=pd.Series(few, name="region")), 800, random_state=0)
    assert len(rows) == 800
    assert len(np.unique(few[rows])) == FEWEST_GROUPS // 4


def test_the_modules_example_holds():
    assert doctest.testmod(dataset_module, extraglobs={"fd": fd}).failed == 0
