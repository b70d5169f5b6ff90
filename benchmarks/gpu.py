"""Seconds that sweeps train on a GPU and on one core of its machine, and whether both find the same.

    python -m benchmarks.gpu

Needs a CUDA GPU, and FAIRDASH_DATA for Crime. Writes results/gpu.csv. The gap is the largest one between the
errors of a method and weight on both devices, means over the splits and as shares of the target's variance.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch

import fairdash as fd
from benchmarks.portfolio import simulated
from fairdash.data.dataset import Dataset
from fairdash.training.sweep import default_plan, train_sweep

RESULTS = Path(__file__).parent / "results" / "gpu.csv"
LAMS = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0)
METHODS = ("standard", "hgr_spline", "chi2_kde", "hgr_nn")


def trained(dataset: Dataset, method: str, device: str) -> tuple[float, pd.Series]:
    """Seconds, and the error of each weight."""
    lams = () if method == "standard" else LAMS
    plan = default_plan(dataset, methods=(method,), lams=lams, tune=False, confirmation=0.0, device=device)
    begun = time.perf_counter()
    found = train_sweep(dataset, plan, importance=False)
    seconds, y, splits = time.perf_counter() - begun, dataset.target.to_numpy(float), plan.splits(dataset)
    rows = [splits[j].test for j in found.members["split"]]
    errors = [np.mean((found.predictions[k, own] - y[own]) ** 2) / y.var() for k, own in enumerate(rows)]
    return seconds, pd.Series(errors).groupby(found.members["lam"]).mean()


def main() -> None:
    torch.set_num_threads(1)
    # The first use of a GPU starts it.
    torch.zeros(1, device="cuda").sum().item()
    rows = []
    for name, dataset in (("crime", fd.load_dataset("crime")), ("claims_60000", simulated(60_000))):
        for method in METHODS:
            (gpu, of_gpu), (cpu, of_cpu) = (trained(dataset, method, device) for device in ("cuda", "cpu"))
            gap = float((of_gpu - of_cpu).abs().max())
            rows.append({"data": name, "method": method, "gpu_s": gpu, "core_s": cpu, "gap": gap})
            print(rows[-1], flush=True)
    pd.DataFrame(rows).assign(gpu=torch.cuda.get_device_name()).round(4).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
