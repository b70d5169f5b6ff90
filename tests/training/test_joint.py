"""Joint and concatenated distance covariance as penalties, and the planted crossing that only they and pairs see."""

import numpy as np
import pytest
import torch

import fairdash as fd
from benchmarks.joint import fitted, gap, people
from fairdash.dependence.joint import distances, scaled
from fairdash.training.methods import METHODS
from fairdash.training.settings import TrainingSettings
from fairdash.training.sweep import STANDARD


def _written_out(u, s, *, together):
    """Mean of A · (Π(B + 1) − 1) over all pairs of rows, from whole tables of distances."""

    def centred(x):
        d = distances(x, x)
        return d.mean(axis=0) + d.mean(axis=1, keepdims=True) - d - d.mean()

    tables = [centred(x) for x in scaled(s.T, together=together)]
    (a,) = (centred(x) for x in scaled(u[None]))
    return (a * np.prod([b + 1 for b in tables], axis=0)).mean()


@pytest.mark.parametrize("id", ["jdcov", "ccdcov"])
@pytest.mark.parametrize(("kind", "off"), [("classes", 1e-7), ("mixed", 0.05), ("three", 0.13)])
def test_a_penalty_is_the_distance_covariance_of_the_batch(id, kind, off):
    rng = np.random.default_rng(0)
    age, income, sex = *rng.normal(size=(2, 500)), (rng.random(500) < 0.4).astype(float)
    region = np.eye(3)[rng.integers(0, 3, 500)]
    u = 2 * sex * (region[:, 0] - 0.3) + age * (2 * sex - 1) + np.exp(0.3 * income) + rng.normal(size=500)
    s = np.column_stack(
        {"classes": [sex, region], "mixed": [age, sex, region], "three": [age, income, sex]}[kind]
    )
    kind_of = METHODS[id].penalty_class()
    v = kind_of.encode(torch.tensor(s)[None], [torch.arange(500)])
    first = torch.zeros(1, dtype=torch.long)
    penalty = kind_of(seeds=[0], s=v, which_split=first, settings=TrainingSettings())
    whole = _written_out(u, s, together=id == "ccdcov")
    assert penalty(torch.tensor(u)[None, :, None], v).item() == pytest.approx(whole, rel=off)
    assert v.shape[2] <= 32


def test_a_planted_crossing_is_lowered_at_no_more_error_than_the_repairs():
    """Gap between the averages of ten bands of age by sex, and mean squared error, on new rows."""
    both = ["age", "sex"]
    (table, y), (new, of_new) = people(0), people(1)
    plain = fitted(STANDARD, 0.0, table, y, table[both])
    repair = fd.FairPostprocessor("price", random_state=0)
    repair.fit(table.assign(price=plain.predict(table)), sensitive_features=table[both])
    repaired = repair.predict(new.assign(price=plain.predict(new)), sensitive_features=new[both])
    assert gap(new, plain.predict(new)) > 20
    fair = fitted("jdcov", 10.0, table, y, table[both]).predict(new)
    assert gap(new, fair) < 4
    assert np.mean((fair - of_new) ** 2) < 1.05 * np.mean((repaired - of_new) ** 2)
