"""Gallery of the figures that fairdash draws, light and dark, each with its code.

    python -m docs.making.gallery FOLDER

writes the figures as JSON files of plotly, and ``make docs`` puts them on a page of the site. The figures are drawn
from data sets that this module simulates and from the committed results in ``fairdash/lab/paper/results``, so no
data are downloaded.
"""

from __future__ import annotations

import inspect
import json
import sys
import textwrap
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go

import fairdash as fd
from fairdash.api import SweepResult
from fairdash.data.dataset import Dataset
from fairdash.lab import SHAPES, Scene, gaussian_study, truth_of
from fairdash.lab.figures.estimates import along_rho_figure
from fairdash.lab.figures.paper import architecture_figure, by_age_figure
from fairdash.lab.figures.simulations import fig2_figure, scatter_figure
from fairdash.lab.paper import read_result
from fairdash.lab.studies import lines_of, means_along_rho
from fairdash.lab.truth import exact_curves
from fairdash.tariff.model import FairTariff
from fairdash.training.methods import METHODS
from fairdash.views.blocks import as_script_json, plotly_script
from fairdash.views.figures.comparison import factor_figure
from fairdash.views.figures.data import proxies_figure
from fairdash.views.figures.theme import theme_of

Draw = Callable[[bool], go.Figure]


@cache
def household() -> Dataset:
    return fd.load_dataset("household")


@cache
def sweep() -> SweepResult:
    """Sweep with few epochs, two splits and untuned settings, which is enough for a page of examples."""
    return fd.sweep(
        household(),
        methods=["standard", "hgr_spline", "pearson"],
        lams=[0.1, 0.3, 1.0, 3.0],
        n_splits=2,
        settings=fd.TrainingSettings(n_epochs=25),
        measures=["hgr_spline"],
        device="cpu",
        random_state=0,
    )


@cache
def tariff() -> FairTariff:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, size=12_000)
    bonus = 50 + (80 - age) / 2 + rng.normal(0, 12, size=12_000)
    zone = rng.choice(["city", "town", "land"], size=12_000)
    years = rng.uniform(0.3, 1, size=12_000)
    claims = rng.poisson(years * np.exp(-2.4 + bonus / 50 + 0.4 * (zone == "city")))
    features, driver = pd.DataFrame({"bonus": bonus, "zone": zone}), pd.DataFrame({"driver_age": age})
    model = FairTariff(loss="poisson", lam=0.3, random_state=0)
    return model.fit(features, claims / years, sensitive_features=driver, sample_weight=years)


def front(dark: bool) -> go.Figure:
    return fd.plot.front(sweep(), method="hgr_spline", sensitive="Age", dark=dark)


def profile(dark: bool) -> go.Figure:
    return fd.plot.profile(sweep(), method="hgr_spline", lam=1.0, dark=dark)


def transfers(dark: bool) -> go.Figure:
    return fd.plot.transfers(sweep(), method="hgr_spline", lam=1.0, dark=dark)


def dependence(dark: bool) -> go.Figure:
    return fd.plot.dependence(household(), dark=dark)


def proxies(dark: bool) -> go.Figure:
    ranking = fd.rank_proxies(household(), random_state=0)
    return proxies_figure(
        ranking.features, sensitive=ranking.sensitive, joint=ranking.joint, theme=theme_of(dark=dark)
    )


def relativities(dark: bool) -> go.Figure:
    before, after = tariff().relativities(unpenalised=True), tariff().relativities()
    return factor_figure(before, after, "bonus", after_name="λ = 0.3", theme=theme_of(dark=dark))


def pattern(dark: bool) -> go.Figure:
    scene = Scene(pattern="sawtooth", n=500, noise=1.0, seed=0)
    u, v = scene.draw()
    grid = np.linspace(-10, 10, 400)
    exact = truth_of(scene.shape, noise=scene.noise).hgr
    return scatter_figure(
        u[0],
        v[0],
        (scene.scale_u(grid), scene.scale_v(scene.named(grid))),
        title=scene.named.title,
        subtitle=f"500 rows, noise σ = 1; exact HGR {exact:.3f}",
        theme=theme_of(dark=dark),
        height=420,
    )


def gaussians(dark: bool) -> go.Figure:
    ids = ["hgr_spline", "hgr_kde", "chi2_kde", "mi_ksg"]
    *_, last = gaussian_study(n=500, repeats=3, ids=ids)
    return along_rho_figure(
        exact_curves(np.linspace(0, 0.99, 199)),
        means_along_rho(last.tables["values"], base="nats"),
        ids=ids,
        base="nats",
        rho=0.6,
        subtitle="lines: true; points: estimated, 3 data sets of 500 rows",
        theme=theme_of(dark=dark),
    )


def fig2(dark: bool) -> go.Figure:
    study = read_result("fig2")
    values = study.tables["values"]
    return fig2_figure(
        lines_of(values[values["evaluation"] == "ours"]),
        study.tables["exact"],
        ids=["hgr_nn", "hgr_kde", "hgr_rdc"],
        evaluation="ours",
        titles={id: SHAPES[id].title for id in SHAPES},
        subtitle=f"{study.options['rows']:,} rows, means of {study.options['repeats']} data sets",
        theme=theme_of(dark=dark),
    )


def fig3(dark: bool) -> go.Figure:
    study = read_result("fig3")
    last = study.tables["flow"].iloc[-1]
    return architecture_figure(
        {str(name): float(value) for name, value in last.items()},
        lam=study.options["lam"],
        features="<br>".join(study.options["features"]),
        theme=theme_of(dark=dark),
    )


def fig4(dark: bool) -> go.Figure:
    study = read_result("household")
    splits, shown = study.tables["splits"], study.tables["profile"]
    parity = splits[splits["objective"] == "demographic_parity"]
    return by_age_figure(
        shown[shown["objective"] == "demographic_parity"],
        names={method: METHODS[method].title for method in parity["method"].unique()},
        level=float(parity.loc[parity["method"] == "standard", "mean_price"].mean()),
        title="Average price by age",
        subtitle="band: standard network, 95 %; dotted: the average price",
        y="Average price (€)",
        theme=theme_of(dark=dark),
    )


#: Function that draws a figure, to the heading and the description of the figure.
GALLERY: dict[Draw, tuple[str, str]] = {
    front: (
        "What fairness costs",
        "Test error against dependence on age, from the standard model on the right to the largest λ. A line joins the "
        "points of a method that differ by more than noise. To the left of the grey band's edge, no link is found.",
    ),
    profile: (
        "Average prediction by group",
        "Average predictions of the standard model and of a fair model in quantile groups of age. The line of a "
        "fairer model is flatter.",
    ),
    transfers: (
        "Who pays",
        "The average change per person from the standard model to the fair model, by age group.",
    ),
    dependence: (
        "Dependence of the target on the attribute",
        "The target against the sensitive attribute: averages of groups with 95 % intervals, and single rows as dots.",
    ),
    proxies: (
        "Which features predict the sensitive attribute",
        "Maximal correlation of each feature with age, on rows that were not used to fit it. The top bar shows the "
        "correlation of age with a prediction of age from all features together.",
    ),
    relativities: (
        "A factor of a fair tariff",
        "Relativities along a numeric factor at λ = 0 and at λ = 0.3, with the exposure as bars in the background.",
    ),
    pattern: (
        "A link that correlation does not detect",
        "One of the patterns used to compare the measures, with noise, and its exact maximal correlation.",
    ),
    gaussians: (
        "Three quantities on Gaussians",
        "HGR², χ² and mutual information against ρ. Lines are exact values, points are estimates.",
    ),
    fig2: (
        "The paper's Figure 2, reproduced",
        "Values of three estimators of HGR, and the exact value, for four kinds of pattern with increasing noise.",
    ),
    fig3: (
        "The paper's Figure 3, with values",
        "The networks of Fair HGR NN at the end of a short training run, each with its formula and its value.",
    ),
    fig4: (
        "The paper's Figure 4, reproduced",
        "Average price by age for the standard network and the fair networks in the household scenario.",
    ),
}  # fmt: skip


def drawings() -> dict[str, dict[str, str]]:
    """Map the name of each figure to plotly's JSON of the figure in "light" and "dark"."""
    return {
        draw.__name__: {name: draw(dark).to_json() for name, dark in (("light", False), ("dark", True))}
        for draw in GALLERY
    }


def files() -> dict[str, str]:
    """Map paths on the site to the gallery's page and the scripts that it loads; plotly.js is loaded once."""
    shown = {
        f"assets/gallery/{name}.js": f'fairdashFigure("{name}", '
        f'{{"light": {as_script_json(of["light"])}, "dark": {as_script_json(of["dark"])}}});\n'
        for name, of in drawings().items()
    }
    return {"gallery.md": _page(), "assets/gallery/plotly.js": str(plotly_script())} | shown


def _page() -> str:
    parts = [
        "# Gallery",
        "",
        "This page shows figures of fairdash, each with the code that draws it. Each build of this site redraws the "
        "figures from simulated data and from the results that come with the package. The functions of "
        "`fd.plot` take the result of `fd.sweep`. `theme_of` is in `fairdash.views.figures.theme`.",
        "",
        *(_entry(draw, *said) for draw, said in GALLERY.items()),
        "## Data of the figures",
        "",
        *(_code(each.__wrapped__) for each in (household, sweep, tariff)),
        '<script src="assets/gallery.js"></script>',
    ]
    return "\n".join(parts)


def _entry(draw: Draw, title: str, says: str) -> str:
    name = draw.__name__
    figure = f'<div class="fairdash-figure" id="figure-{name}" data-figure="{name}" role="img" aria-label="{title}. {says}"></div>'
    return "\n".join([f"## {title}", "", says, "", figure, "", _code(draw)])


def _code(function: Callable[..., object]) -> str:
    return f"```python\n{textwrap.dedent(inspect.getsource(function)).replace('@cache' + chr(10), '')}```\n"


def main(folder: Path) -> None:
    """Write all figures as JSON files into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, of in drawings().items():
        for scheme, text in of.items():
            (folder / f"{name}-{scheme}.json").write_text(json.dumps(json.loads(text)), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
