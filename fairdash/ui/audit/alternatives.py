"""Question 8, less discriminatory alternatives: a front's points beside the audited price."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from fairdash.auditing.plan import Columns
from fairdash.data.fixes import with_fix
from fairdash.data.rate import AS_THEY_ARE
from fairdash.data.roles import Roles
from fairdash.data.source import CatalogueSource, DatasetSource, UploadSource
from fairdash.dependence.registry import REGISTRY
from fairdash.errors import Fix, RunError
from fairdash.reports.fronts import Front, Point
from fairdash.reports.nearest import nearest_points
from fairdash.runs.audits import AuditJob
from fairdash.runs.listing import list_runs
from fairdash.runs.store import RESULT, Run
from fairdash.training.baselines import PRICE
from fairdash.ui.cached import fronts_of, result_of, roles_of
from fairdash.ui.keys import Address, Keys
from fairdash.ui.owner import current_owner
from fairdash.ui.pages import go_to
from fairdash.ui.runs.words import title_of
from fairdash.ui.state import choose_run, choose_source
from fairdash.ui.text import safe

KEY = Keys(__file__)


def show_alternatives(audit: AuditJob, columns: Columns) -> None:
    """The nearest points of a front trained on the audited table, or the way to train one.

    Parameters
    ----------
    columns
        The audit's, with one sensitive attribute: the one in view.
    """
    st.markdown("**Less discriminatory alternatives: the nearest points of a front trained here**")
    source = audit.spec.source
    run = _run_of(source, columns)
    if run is None:
        _offer_training(source, columns)
        return
    front = fronts_of(run, sensitive=columns.sensitive)[run.available_plan.objective]
    table = nearest_points(front)
    st.markdown(_in_words(table, front, run))
    measure = f"dependence, {REGISTRY[front.default_measure].symbol}"
    st.dataframe(
        pd.DataFrame(
            {
                "price": [
                    _named(method, lam) for method, lam in zip(table["method"], table["lam"], strict=True)
                ],
                front.error_title: table["error"],
                "± error": table["error_se"],
                measure: table["dependence"],
                "± dependence": table["dependence_se"],
            }
        ),
        hide_index=True,
        alt="The audited price and points of a front, each with its error and its dependence.",
        column_config=dict.fromkeys(
            (front.error_title, "± error", measure, "± dependence"),
            st.column_config.NumberColumn(format="%.3f"),
        ),
    )
    if st.button("See this front", key=KEY("front"), icon=":material/balance:"):
        go_to("tradeoff", address={Address.RUN.value: run.id})


def _named(method: str, lam: float) -> str:
    return "the audited price" if method == PRICE else Point(method, lam).title


def _in_words(table: pd.DataFrame, front: Front, run: Run) -> str:
    splits = result_of(run).splits
    rows = (
        f"{len(splits[0].test):,} test rows of the run “{safe(title_of(run))}”, mean of {len(splits)} splits"
    )
    first = table.iloc[0]
    if first["method"] != PRICE:
        return (
            f"The price is that run's own; these points go from one end of its front to the other ({rows})."
        )
    less = table.iloc[1:][table["dependence"].iloc[1:] < first["dependence"]]
    if less.empty:
        return f"None of the nearest points follows “{safe(front.sensitive)}” less than the price ({rows})."
    near = less.iloc[0]
    return (
        f"The nearest point that follows “{safe(front.sensitive)}” less has a dependence of "
        f"{near['dependence']:.3f} in place of the price's {first['dependence']:.3f}, and an error of "
        f"{near['error']:.3f} in place of {first['error']:.3f} (the same rows for both: {rows})."
    )


def _run_of(source: DatasetSource, columns: Columns) -> Run | None:
    """The newest finished run on this table with the audit's roles, or the run that the price is from."""
    owner = current_owner()
    asked = (columns.price, columns.outcome, columns.exposure, columns.outcome in columns.totals)
    for run in list_runs(owner=owner).runs:
        if run.look == RESULT and _table_of(run.spec.source) == _table_of(source):
            roles = roles_of(run.spec.source)
            seen = (roles.prediction, roles.target, roles.weight, roles.rate)
            if asked == seen and columns.sensitive in roles.sensitive:
                return run
    for name in source.made_from if isinstance(source, UploadSource) else ():
        try:
            run = Run(name, owner=owner)
        except RunError:
            # A file's hash, or a run that is gone.
            continue
        if run.look == RESULT and columns.sensitive in roles_of(run.spec.source).sensitive:
            return run
    return None


def _table_of(source: DatasetSource) -> tuple[object, ...]:
    """What tells a table from another, whatever its columns' roles."""
    if isinstance(source, UploadSource):
        return source.sha256, source.reading
    assert isinstance(source, CatalogueSource)
    return source.dataset, dict(source.options)


def _offer_training(source: DatasetSource, columns: Columns) -> None:
    if columns.outcome is None:
        st.markdown("An outcome, such as claims, would be needed to train one.")
        return
    st.markdown("No front has been trained on this table with these columns; that takes minutes.")
    if st.button("Train a front on this table", key=KEY("train"), icon=":material/tune:"):
        assert isinstance(source, UploadSource | CatalogueSource)
        made = replace(source, roles=_roles(roles_of(source), columns))
        if columns.outcome in columns.totals and (source.table()[columns.outcome] < 0).any():
            # As the audit took them.
            made = replace(made, fixes=with_fix(made.fixes, Fix(AS_THEY_ARE, columns.outcome)))
        choose_run(None)
        choose_source(made)
        go_to("train", address={Address.DATASET.value: made.id})


def _roles(roles: Roles, columns: Columns) -> Roles:
    """The audit's columns as a run has them; what else the table's roles say stays."""
    taken = {columns.price, columns.sensitive, columns.outcome, columns.exposure, columns.groups}
    taken |= {columns.candidate, columns.expected_cost}
    return replace(
        roles,
        target=str(columns.outcome),
        sensitive=(columns.sensitive,),
        prediction=columns.price,
        weight=columns.exposure,
        group=columns.groups,
        rate=columns.outcome in columns.totals,
        features=tuple(name for name in columns.features or roles.features if name not in taken),
    )
