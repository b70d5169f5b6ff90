"""Questions 6 and 8, which need models: through what does the price follow s, and what could be charged
instead?

Their words stand in :mod:`fairdash.auditing.learned_words`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from fairdash.auditing import learned_words as words
from fairdash.auditing.bridge import typical_gap
from fairdash.auditing.drivers import Drivers, drivers_of, proxy_discrimination
from fairdash.auditing.features import used_in_words
from fairdash.auditing.models import sampled
from fairdash.auditing.premiums import Costs, compare_premiums, learn_costs
from fairdash.auditing.table import AuditTable
from fairdash.seeds import Stream, rng_of

if TYPE_CHECKING:
    from fairdash.auditing.audit import _Work

#: Rows and permutations behind the proxies that stand beside.
_PROXY_ROWS, _PERMUTATIONS = 2_000, 39


def through_what(work: _Work) -> None:
    """Question 6."""
    table = work.table
    _, uf = typical_gap(table, work.basis, work.curve)
    work.measure(6, "share_of_variance", uf, of_price=False)
    spread = words.spread(uf, table.columns.sensitive)
    if table.features.columns.empty or uf.ci_high <= 0:
        work.sentences[6] = (spread, *([words.NO_FEATURES] if table.features.columns.empty else []))
        return
    drivers = drivers_of(table, random_state=work.seed)
    work.tables["drivers"] = drivers.shares
    for name, each in (("surrogate_share_of_variance", drivers.whole), ("uses_itself", drivers.itself)):
        work.measure(6, name, each, of_price=False)
    work.tell("Which columns go with the sensitive attribute?", work.share(6, 0.4))
    work.tables["proxies"], told = _proxies(table, seed=work.seed)
    work.tell("Learning what policies cost", work.share(6, 0.6))
    costs = work.costs
    pd_value = None
    if costs is not None:
        pd_value, _ = proxy_discrimination(costs.table.price, costs.at_nodes, costs.table)
        work.measure(6, "proxy_discrimination", pd_value, of_price=False)
    work.tables["surrogate_fit"] = _fits(drivers, costs, told=told)
    parts, made, itself = words.through(drivers, uf, table.columns.sensitive)
    work.sentences[6] = (
        f"{spread} {parts}",
        made,
        itself,
        words.proxies(work.tables["proxies"], table.columns.sensitive),
        words.proxy_discrimination(pd_value, costs),
        _features_of(table),
    )


def what_instead(work: _Work) -> None:
    """Question 8."""
    costs = work.costs
    if costs is None:
        work.sentences[8] = (words.no_costs(work.table),)
        return
    found = compare_premiums(costs, work.delta, random_state=work.seed)
    work.tables["premiums"], work.tables["premium_curves"] = found.premiums, found.curves
    work.tables["premium_differences"] = found.differences
    for name, each in found.sizes.items():
        work.measure(8, name, each)
    work.measure(8, "explained", costs.fit, of_price=False)
    work.sentences[8] = (*words.instead(found, costs), _features_of(work.table))


def can_learn_costs(table: AuditTable) -> bool:
    """Whether there is something to learn costs from."""
    cost = table.outcome if table.expected_cost is None else table.expected_cost
    return cost is not None and not table.features.columns.empty and float(table.weight @ cost) > 0


def costs_of(work: _Work) -> Costs | None:
    """What policies cost, learned; None where there is nothing to learn it from."""
    if not can_learn_costs(work.table):
        return None
    return learn_costs(
        work.table,
        tell=lambda share: work.tell("Learning what policies cost", work.share(6, 0.6 + 0.4 * share)),
        random_state=work.seed,
    )


def _features_of(table: AuditTable) -> str:
    return used_in_words(list(map(str, table.features)), named=table.columns.features is not None)


def _proxies(table: AuditTable, *, seed: int | None) -> tuple[pd.DataFrame, float]:
    """Each feature's dependence on s, and the share of the variance of its ranks that all foretell."""
    from fairdash.data.dataset import Dataset
    from fairdash.data.proxies import rank_proxies

    part = sampled(table, _PROXY_ROWS)
    name = table.columns.sensitive
    ranking = rank_proxies(
        Dataset(
            name="audit",
            features=part.features,
            # No part of this looks at a target; a data set has one.
            target=pd.Series(range(part.n), dtype=float, name=table.columns.price),
            sensitive=pd.DataFrame({name: part.sensitive}),
            group=None if part.n_units == part.n else pd.Series(part.units, name=table.columns.groups),
        ),
        n_permutations=_PERMUTATIONS,
        random_state=int(rng_of(Stream.AUDIT_PROXIES, seed).integers(2**31)),
    )
    return ranking.features, ranking.joint_r2


def _fits(drivers: Drivers, costs: Costs | None, *, told: float) -> pd.DataFrame:
    """How well each model does on rows that it did not learn from."""
    rows: list[dict[str, Any]] = [
        {"model": "the price from its features", "rows": drivers.rows, "measure": "R²", **vars(drivers.fit)},
        {
            "model": "the price from its features and the sensitive attribute",
            "rows": drivers.rows,
            "measure": "R²",
            **vars(drivers.fit_with),
        },
        {
            "model": "the price, by networks in place of trees",
            "rows": drivers.rows,
            "measure": "R²",
            **vars(drivers.fit_networks),
        },
        {"model": "ranks of the sensitive attribute from the features", "measure": "R²", "value": told},
    ]
    if costs is not None:
        rows += [
            {"model": model, "rows": costs.table.n, "measure": words.measure_of(costs), **vars(fit)}
            for model, fit in (
                ("cost from the features and the sensitive attribute", costs.fit),
                ("cost, by networks in place of trees", costs.fit_networks),
            )
        ]
    return pd.DataFrame(rows)
