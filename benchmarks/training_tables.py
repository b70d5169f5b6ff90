"""Write docs/training.md from the committed results of the training studies.

    python -m benchmarks.training_tables

benchmarks.training and benchmarks.stack_vs_loop produce the results.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import matplotlib as mpl
import pandas as pd
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from benchmarks.estimator_tables import RESULTS, markdown
from fairdash.training.device import MIN_SECONDS_FOR_GPU
from fairdash.training.methods import METHODS
from fairdash.training.settings import ARCHITECTURES, OBJECTIVES, TrainingSettings
from fairdash.training.sweep import STANDARD

PAGE = Path(__file__).parent.parent / "docs" / "training.md"
RATIO = "networks ÷ trees"
PICTURE = PAGE.with_name("seconds_by_rows.svg")
PARTS_PICTURE = PAGE.with_name("parts_of_a_run.svg")
TITLES = {"crime": "Crime", "census_county": "Census, counties", "household": "Household", "motor": "Motor"}


def large_tables() -> list[str]:
    """Cost and gain of the budget of steps, and seconds by the number of rows."""
    portfolio = pd.read_csv(RESULTS / "portfolio.csv")
    ends = {"standard": "standard", "at_75": "at 75 %", "at_50": "at 50 %", "at_25": "at 25 %"}
    excess = {
        title: [
            f"{100 * mean:+.2f} % ({100 * low:+.2f} to {100 * high:+.2f})"
            for mean, low, high in portfolio[
                [f"excess_{end}", f"excess_{end}_low", f"excess_{end}_high"]
            ].itertuples(index=False)
        ]
        for end, title in ends.items()
    }
    sets = portfolio[portfolio["rows"].notna()]
    openings = pd.read_csv(RESULTS / "portfolio_openings.csv").set_index("data")["opening_at"]
    where = pd.DataFrame(
        {
            "data": sets["data"],
            "rows": sets["rows"].astype(int),
            "seconds, 9ba3690": sets["cpu_s_fixed"].round(1),
            "seconds, now": sets["cpu_s_budget"].round(1),
            "weights between": [
                f"{b:.0f} of {w:.0f}" for b, w in zip(sets["between"], sets["weights"], strict=True)
            ],
            "opening at": [f"{100 * openings[name]:.0f} %" for name in sets["data"]],
        }
    )
    return [
        "## Large tables and weak claims",
        "",
        "The batch size and the number of epochs depend on the number of rows. The next table compares these "
        "settings with the settings of the older version 9ba3690: batches of 256 rows and 60 epochs (`python "
        "-m benchmarks.portfolio`). Both versions train the standard network and the spline network on the "
        f"same {sets['splits'].min():.0f} splits. Each cell gives the excess of the new error over the old "
        "one, with a 95 % interval. The columns refer to the standard network and to the models whose "
        "dependence is 75, 50 and 25 % of the standard network's. Tables with the same settings in both "
        "versions have an excess of 0.",
        "",
        markdown(pd.DataFrame({"data": portfolio["data"], **excess})),
        "",
        "The next table gives the seconds per split on one core. “Weights between” is the number of default "
        "weights λ whose models show less dependence than the standard network and more than the noise "
        "floor. “Opening at” is the point that the trade-off page shows first, as a position between the "
        f"dependence of the standard network (0 %) and the noise floor (100 %). {_beyond(openings)}",
        "",
        markdown(where),
        "",
        "The next table gives seconds of one core on simulated claims with eight rating factors "
        "(`python -m benchmarks.seconds_by_rows`): one Poisson GLM, one boosted model with early stopping, "
        "one fair tariff, and a front of 24 networks (8 weights λ and 3 splits).",
        "",
        f"![Seconds of one core against rows, on logarithmic axes]({PICTURE.name})",
        "",
        markdown(seconds_by_rows().round({RATIO: 1}).reset_index().astype(object).fillna("–")),
        "",
    ]


def _beyond(openings: pd.Series) -> str:
    """Data sets for which the page first shows a point outside the middle third."""
    outside = openings.index[~openings.between(1 / 3, 2 / 3)]
    if outside.empty:
        return "For all tables, the page opens in the middle third."
    names = ", ".join(f"`{name}`" for name in outside)
    return f"Only for {names}, the page opens outside the middle third."


def seconds_by_rows() -> pd.DataFrame:
    """Core seconds by number of rows and model, and those of the networks as a multiple of the trees'."""
    seconds = pd.read_csv(RESULTS / "seconds_by_rows.csv")
    models = list(seconds["model"].unique())
    wide = seconds.pivot(index="rows", columns="model", values="cpu_s")[models]
    wide[RATIO] = wide[models[-1]] / wide["boosted trees"]
    return wide


def draw_seconds() -> None:
    """Draw core seconds against rows, both on logarithmic axes."""
    seconds = seconds_by_rows()
    most = seconds.pop(RATIO).max()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "fairdash", "font.size": 9.0}):
        drawn = Figure(figsize=(7, 4), layout="constrained")
        axes = drawn.add_subplot(xscale="log", yscale="log")
        for model, mark in zip(seconds, "osD^", strict=True):
            axes.plot(seconds.index, seconds[model], marker=mark, label=model)
        title = f"{seconds.columns[-1]} take at most {most:.0f} times as long as one boosted model"
        axes.set(xlabel="Rows", ylabel="Seconds of one core", title=title)
        axes.grid(color="#e6e9ec", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        FigureCanvasSVG(drawn).print_svg(PICTURE, metadata={"Date": None, "Creator": None})


def page() -> str:
    """The whole page as Markdown."""
    quality = pd.read_csv(RESULTS / "training_quality.csv")
    n_splits = int(quality["n_splits"].iloc[0])
    methods = pd.DataFrame(
        [
            {"id": m.id, "name": m.title, "what it does": m.meaning, "source": m.source}
            for m in METHODS.values()
        ]
    )
    architectures = pd.DataFrame(
        [
            {"id": each.id, "name": each.title, "what it does": each.meaning, "source": each.source}
            for each in ARCHITECTURES.values()
        ]
    )
    lines = [
        "# The accuracy and the cost of the methods",
        "",
        "This page is made by `python -m benchmarks.training_tables` from `benchmarks/results/`, which "
        "`python -m benchmarks.training` and `python -m benchmarks.stack_vs_loop` reproduce.",
        "",
        markdown(methods),
        "",
        "## Networks compared with linear models and trees",
        "",
        "The setting `architecture` selects the architecture of every method's network. The default is "
        f"`{TrainingSettings().architecture}`.",
        "",
        markdown(architectures),
        "",
        "The next table compares models without a penalty (`python -m benchmarks.standard`). The error is "
        "the loss on test rows divided by the loss of a constant prediction, so 0 is perfect. The "
        "difference is the error of the model minus the error of the linear model (ridge or a GLM) on the "
        "same splits, ± Nadeau and Bengio's standard error. The last column gives the seconds that one core "
        "needs per split, including the selection of settings.",
        "",
        markdown(standard_networks()),
        "",
        "The next table compares the architectures under the HGR_spline penalty on Crime, over five splits "
        "(`python -m benchmarks.architectures`). The default architecture is `tanh`, because its predictions "
        "on new rows are closer to independence at large λ.",
        "",
        markdown(pd.read_csv(RESULTS / "architectures.csv").round(3)),
        "",
        "## Error at equal independence",
        "",
        "This section uses Crime and 20 splits (`python -m benchmarks.crime_equal`). For each level, λ is "
        "chosen so that dependence equals the level. Dependence is the mean excess of HGR_KDE and HGR_RDC "
        "over their noise floors or, for equalized residuals, the value of HGR_KDE. The choice of λ uses "
        "validation rows or test rows. If the choice uses test rows, all methods are equally independent on"
        " these rows. The column `reached` is the level that is reached on test rows. The difference is the"
        " error minus the smaller error of the older methods `hgr_spline` and `chi2_kde` (the first two "
        "rows of an objective), ± the half width of Nadeau and Bengio's 95 % interval. Because a mini-batch"
        " of 256 rows shows much dependence by chance, `cca_spline` uses up to 2,048 rows per step, which "
        "takes longer. The last column gives the seconds that one core takes per model.",
        "",
        markdown(equally_independent()),
        "",
        what_residuals_cost(),
        "",
        *schedules(),
        "The results below use the default architecture, `tanh`, and were computed before `cca_spline` and "
        "the falling schedule of the adversary existed.",
        "",
        "## Error and dependence at the λ chosen on validation rows",
        "",
        f"All numbers are means over the test rows of {n_splits} random splits. The error is divided by the "
        "variance of the target, so 0 is perfect and the constant mean has error 1. Dependence is the "
        "excess over the noise floor of the same estimator on the same rows. An excess of 0 means that "
        "there is no evidence of dependence.",
        "",
        "λ is chosen on validation rows, a fifth of each split's training rows. Among the λ whose mean "
        "excess is at most 0.02 in both HGR_KDE and HGR_RDC, the λ with the smallest error is chosen. If no "
        "λ meets this condition, the λ with the least dependence is chosen (marked *).",
        "",
    ]
    for name, title in TITLES.items():
        for objective in OBJECTIVES.values():
            rows = quality[(quality["dataset"] == name) & (quality["objective"] == objective.id)]
            reached = rows["rule"].isin(["reached", "no penalty"])
            table = pd.DataFrame(
                {
                    "method": rows["method"],
                    "λ": [
                        f"{lam:g}{'' if ok else ' *'}" for lam, ok in zip(rows["lam"], reached, strict=True)
                    ],
                    "error": [
                        f"{mse:.3f} ± {se:.3f}" for mse, se in zip(rows["mse"], rows["mse_se"], strict=True)
                    ],
                    "HGR_KDE excess": rows["hgr_kde_excess"],
                    "HGR_RDC excess": rows["hgr_rdc_excess"],
                    "FairQuant excess": rows["fairquant_excess"],
                }
            )
            lines += [f"### {title}, {objective.title.lower()}", "", markdown(table), ""]
    lines += [
        "## Error at matched dependence",
        "",
        "The table gives the error on the same fronts, on test rows, at equal dependence, by linear "
        "interpolation between the trained λ. A dash means that a method never reaches this dependence. "
        "Dependence is measured by HGR_RDC because no method uses it as a penalty.",
        "",
        markdown(matched(pd.read_csv(RESULTS / "training_fronts.csv"))),
        "",
        *large_tables(),
        "## Does dependence fall with λ?",
        "",
        "The table gives Spearman's correlation between λ and the measure for `hgr_nn`, on test rows and "
        "as a mean over ten splits. This correlation uses only the λ at which the measure is above the 95 % "
        "quantile of its noise floor. A value of −1 means that the measure falls with every increase of λ.",
        "",
        markdown(pd.read_csv(RESULTS / "training_monotone.csv")),
        "",
        "## Seconds",
        "",
        "The times are for sweeps on Crime with the default settings, in one process and one thread.",
        "",
        markdown(pd.read_csv(RESULTS / "training_seconds.csv")),
        "",
        *on_a_gpu(),
        "## Speed of a stack",
        "",
        "The table compares two ways to train 40 models: together in one batch (a “stack”), or in a loop. "
        "The loop is written as in most public code, with torch.optim.Adam and one nn.Sequential per "
        "network, or it is fairdash's code training one model at a time. The arithmetic limit is the "
        "speed-up that would result if the loop's matrix products ran at the rate of one large product and "
        "everything else took no time.",
        "",
        markdown(pd.read_csv(RESULTS / "stack_vs_loop.csv").astype(object).fillna("–")),
        "",
        "## Where the time of a run goes",
        "",
        "The figure gives the CPU seconds of one thread for each part of a run, before and after a change "
        "of November 2026 that made runs faster. The machine was also busy with other work (`python -m "
        "benchmarks.parts_of_a_run`). With the page's defaults and one split, the refined run of Crime took "
        f"{parts_of_a_run().sum().iloc[0]:.1f} seconds before the change and "
        f"{parts_of_a_run().sum().iloc[1]:.1f} seconds after it.",
        "",
        f"![CPU seconds by part of a run, before and after]({PARTS_PICTURE.name})",
        "",
    ]
    return "\n".join(lines)


def schedules() -> list[str]:
    """Cost of both schedules of the adversary, and the excess of the error with the falling one."""
    found = pd.read_csv(RESULTS / "adversary_schedule.csv")
    seconds = ["cpu_s_constant", "cpu_s_falling"]
    shown = found[["data", "method", "splits", *seconds]].round(1)
    for level in (75, 50, 25):
        names = [f"excess_{level}{end}" for end in ("", "_low", "_high")]
        shown[f"at {level} %"] = [
            "{:+.2f} % ({:+.2f} to {:+.2f})".format(*(100 * values)) if values.notna().all() else "–"
            for _, values in found[names].iterrows()
        ]
    return [
        "## Steps of the adversary",
        "",
        "While the learning rate of the predictor falls, the predictor changes more slowly, so its adversary "
        "needs fewer steps to follow. The default `adversary_schedule` is therefore `falling`. The next "
        "table compares it with `constant` (`python -m benchmarks.adversary_schedule`): CPU seconds for 7 or "
        "8 weights λ and all splits, and the excess of the error with the falling schedule over "
        "the error with the constant one, with 95 % intervals, at the points of the front at which the "
        "dependence is 75, 50 and 25 % of the standard network's. Levels below the floor are left out.",
        "",
        markdown(
            shown.rename(columns=dict(zip(seconds, ("seconds, constant", "seconds, falling"), strict=True)))
        ),
        "",
    ]


def parts_of_a_run() -> pd.DataFrame:
    """CPU seconds by part of a run, with one column for the earlier and one for the current version."""
    seconds = pd.read_csv(RESULTS / "parts_of_a_run.csv")
    return seconds.pivot(index="part", columns="label", values="seconds").loc[seconds["part"].unique()]


def draw_parts() -> None:
    """Draw the seconds by part, before and after, as bars."""
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "fairdash", "font.size": 9.0}):
        drawn = Figure(figsize=(7, 4), layout="constrained")
        axes = drawn.add_subplot(xlabel="CPU seconds of one thread")
        parts_of_a_run()[::-1].plot.barh(ax=axes, ylabel="", color=["#9aa5b1", "#1f6feb"])
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, reverse=True, loc="lower right")
        FigureCanvasSVG(drawn).print_svg(PARTS_PICTURE, metadata={"Date": None, "Creator": None})


def on_a_gpu() -> list[str]:
    """Seconds on a GPU compared with those of its machine's cores, and the resulting rule."""
    found = pd.read_csv(RESULTS / "gpu.csv", index_col="work")
    card, cores = found["gpu"].iloc[0], found["cores"].iloc[0]
    both = found.dropna(subset=["cpu_s", "gpu_s"]).reset_index()
    titles = {"estimate_s": "estimate", "cpu_s": f"{cores} cores", "gpu_s": "GPU", "share": "GPU ÷ cores"}
    many = {name.split()[-3]: row for name, row in found["share"].items() if name.endswith("÷ one")}
    (large,) = (name for name in found.index if "refined run, ended" in name)
    networks, tariffs = (
        found["gpu_s"][f"last told of “{doing}”, after"]
        for doing in ("training Standard network on the GPU (CUDA)", "fitting tariffs")
    )
    start, gaps = found["gpu_s"].iloc[0], found["gap"].dropna()
    of_rounding = gaps[gaps.index.str.endswith("features in their seventh digit")]
    of_devices = gaps[gaps.index.str.contains("of which the gap is at")]
    return [
        f"The next table compares a GPU ({card}) with the {cores} CPU cores of the same machine, in seconds "
        "(`python -m benchmarks.gpu`). For a batch of models (a “stack”), a GPU records the training steps "
        "once, as a CUDA graph, and replays them, so the GPU never waits for the host. If the GPU can't "
        "record a step, for example because a penalty returns a number to the host, fairdash runs the "
        "operations one at a time, and the run's notes state this. Two runs on the GPU with the same seed "
        "give the same predictions to the last bit.",
        "",
        markdown(both[["work", *titles]].rename(columns=titles).astype(object).fillna("–")),
        "",
        "The column `estimate` is the time that fairdash expects one slow core to take. A GPU needs "
        f'{start:.1f} seconds to start in a new process. `device="auto"` therefore uses a GPU if the '
        f"estimate is at least {MIN_SECONDS_FOR_GPU:g} seconds. If the estimate is lower, fairdash uses the "
        "CPU, and the run's notes give the reason.",
        "",
        f"The errors on both devices differ by at most {of_devices.max():.3f} of the target's variance "
        f"(`{of_devices.idxmax().split()[2].rstrip(',')}`). Long training amplifies rounding: if the "
        "features change in their seventh digit, the errors on one CPU differ by up to "
        f"{of_rounding.max():.3f}.",
        "",
        f"400 models of one split take {many['hgr_spline']:.1f} (`hgr_spline`), {many['chi2_kde']:.1f} "
        f"(`chi2_kde`) and {many['hgr_nn']:.1f} (`hgr_nn`) times as long as one model.",
        "",
        "The other parts of a refined run use the CPU. With 678,000 simulated claims, the networks are "
        f"trained after {networks:.0f} seconds, and baselines and tariffs are fitted after {tariffs:.0f} "
        f"seconds. After {found['gpu_s'][large]:.0f} seconds, {large.split()[-1].removesuffix('%')} % of the "
        "run's steps were done.",
        "",
    ]


def equally_independent() -> pd.DataFrame:
    """Each entry of benchmarks.crime_equal at each level, one row for both sets of rows used for choosing."""
    table = pd.read_csv(RESULTS / "crime_equal.csv")
    difference = [
        f"{mean:+.3f} ± {half:.3f}" if mean or half else "–"
        for mean, half in zip(table["difference"].fillna(0.0), table["half_width"].fillna(0.0), strict=True)
    ]
    table = table.assign(difference=difference).drop(columns="half_width").rename(columns={"lam": "λ"})
    rounded = table.round({"λ": 1, "error": 3, "reached": 3, "seconds": 2})
    return rounded.astype(object).where(rounded.notna(), "not reached")


def what_residuals_cost() -> str:
    """Why equalized residuals are so expensive on Crime: the spread of the standard network's residuals."""
    spread = pd.read_csv(RESULTS / "crime_spread.csv", index_col="quarter")
    lowest, highest, target = spread["residual"]["1"], spread["residual"]["4"], spread["target"]["all"]
    return (
        "For every method, equalized residuals increase the error more than independence does. The standard "
        "network's root mean squared error is "
        f"{lowest:.2f} in the lowest quarter of s and {highest:.2f} in the highest, where the target varies "
        "most. A model without s equalizes the residuals by raising the error to its highest level "
        f"everywhere. A constant prediction has a root mean squared error of {target:.3f}, so the "
        f"error is ({highest:.3f} / {target:.3f})² = {(highest / target) ** 2:.2f}."
    )


def standard_networks() -> pd.DataFrame:
    """Results of benchmarks.standard, formatted."""
    found = pd.read_csv(RESULTS / "standard.csv")
    return pd.DataFrame(
        {
            "data": found["data"],
            "rows": found["rows"],
            "loss": found["loss"],
            "splits": found["splits"],
            "model": found["model"],
            "error": found["error"].map("{:.4f}".format),
            "difference": [
                "–" if row.model == "linear" else f"{row.difference:+.4f} ± {row.difference_se:.4f}"
                for row in found.itertuples()
            ],
            "seconds": found["seconds"].map("{:.2f}".format).replace("nan", "–"),
        }
    )


def matched(fronts: pd.DataFrame) -> pd.DataFrame:
    """Error of each method where its HGR_RDC has lost half, and three quarters, of the standard excess."""
    rows = []
    for name, title in TITLES.items():
        for objective in OBJECTIVES.values():
            here = fronts[(fronts["dataset"] == name) & (fronts["objective"] == objective.id)]
            standard = here[here["method"] == STANDARD].iloc[0]
            for share in (0.5, 0.25):
                level = share * standard["hgr_rdc_excess"]
                row: dict[str, object] = {
                    "data": title,
                    "objective": objective.title,
                    "HGR_RDC excess": f"{level:.3f}",
                }
                for method in METHODS:
                    if method != STANDARD and method in set(fronts["method"]):
                        front = pd.concat([standard.to_frame().T, here[here["method"] == method]])
                        row[method] = _error_at(front, level)
                rows.append(row)
    return pd.DataFrame(rows)


def _error_at(front: pd.DataFrame, level: float) -> str:
    """Error at the point where the front, followed from λ = 0 on, first falls to `level`."""
    points = front.sort_values("lam")[["hgr_rdc_excess", "mse"]].to_numpy(dtype=float)
    for (before, cheap), (after, dear) in itertools.pairwise(points):
        if after <= level < before:
            return f"{cheap + (dear - cheap) * (before - level) / (before - after):.3f}"
    return "–"


if __name__ == "__main__":
    draw_seconds()
    draw_parts()
    PAGE.write_text(page(), encoding="utf-8")
