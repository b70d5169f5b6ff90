"""Who carries the sensitive attribute, as a study that runs beside the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd

from fairdash.data.dataset import Dataset
from fairdash.data.proxies import ProxyRanking, ranking_steps
from fairdash.simulations.stack import Progress

VALUES, RANKING, JOINT = "values", "ranking", "joint"


def proxy_study(dataset: Dataset, sensitive: str) -> Iterator[Progress]:
    """Rank the features of a data set by what they tell of one of its sensitive columns.

    Yields
    ------
    Progress
        ``values``: ``feature`` and ``hgr``, from the beginning; ``ranking`` and ``joint`` at the end: the
        fields of :class:`~fairdash.data.proxies.ProxyRanking`.
    """
    steps = ranking_steps(dataset, sensitive=sensitive)
    while True:
        try:
            fraction, doing, known = next(steps)
        except StopIteration as end:
            yield Progress(1.0, "done", tables_of_ranking(end.value))
            return
        yield Progress(fraction, doing, {VALUES: known})


def tables_of_ranking(ranking: ProxyRanking) -> dict[str, pd.DataFrame]:
    """The ranking as tables that can be kept."""
    joint = {
        "sensitive": ranking.sensitive,
        "joint": ranking.joint,
        "joint_floor_q95": ranking.joint_floor_q95,
        "joint_r2": ranking.joint_r2,
        "n": ranking.n,
        "n_used": ranking.n_used,
    }
    return {
        VALUES: ranking.features[["feature", "hgr"]],
        RANKING: ranking.features,
        JOINT: pd.DataFrame([joint]),
    }


def ranking_of_tables(tables: Mapping[str, pd.DataFrame]) -> ProxyRanking:
    """The way back from :func:`tables_of_ranking`."""
    joint = tables[JOINT].iloc[0]
    return ProxyRanking(
        sensitive=str(joint["sensitive"]),
        features=tables[RANKING],
        joint=float(joint["joint"]),
        joint_floor_q95=float(joint["joint_floor_q95"]),
        joint_r2=float(joint["joint_r2"]),
        n=int(joint["n"]),
        n_used=int(joint["n_used"]),
    )
