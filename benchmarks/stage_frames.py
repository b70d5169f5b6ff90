"""Whether interactive figures keep up with the mouse: frames of a 5 s drag, and the delay after release.

    python -m benchmarks.stage_frames [--dataset crime] [--seconds 5] [--releases 10] [--keep]

The slider of λ on the trade-off page, for a run of 8 λ × 5 splits (two epochs, because times do not depend on
how well a model was trained), and the noise slider of the patterns page are dragged back and forth with the
mouse in a Chromium browser connected to a server. Requirements: between animation frames a median of at most
20 ms and a 95th percentile of 34 ms; from release to a new sentence at most 400 ms; data, script and styles
of the component at most 600 kB together; no request to other servers. Needs Chromium, and FAIRDASH_DATA for
`crime`.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.tradeoff_times import TRAIN, _app, _page, _program
from fairdash.views.figures.stage import stage_script, stage_style

RESULTS = Path(__file__).parent / "results" / "stage_frames.csv"
#: Records times of animation frames until it is stopped.
RECORD = """
() => {
    window.frames_seen = [];
    const look = now => {
        if (!window.frames_seen) return;
        window.frames_seen.push(now);
        requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
}
"""
#: Records the milliseconds that the component takes for each frame, whatever else the machine does.
WATCH_WORK = """
each => {
    const stage = each.stage, step = stage.step.bind(stage);
    window.work = [];
    stage.step = now => {
        const begun = performance.now();
        step(now);
        window.work.push(performance.now() - begun);
    };
}
"""
STOP = "() => { const seen = window.frames_seen; window.frames_seen = null; return seen; }"
#: Resolves with the milliseconds from release to new sentences; NaN after ten seconds without.
WATCH = """
() => {
    const said = () => [...document.querySelectorAll(
        '[data-testid=stMarkdown], [data-testid=stCaptionContainer]')].map(each => each.textContent).join();
    window.answered = new Promise(resolve => addEventListener('pointerup', () => {
        const before = said(), begun = performance.now();
        const look = () => said() && said() !== before
            ? resolve(performance.now() - begun) : requestAnimationFrame(look);
        setTimeout(() => resolve(NaN), 10000);
        look();
    }, {once: true, capture: true}));
}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="crime")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--releases", type=int, default=10)
    parser.add_argument("--home", type=Path, help="with --run: where that run is, rather than a new one")
    parser.add_argument("--run", help="id of a run that is there already")
    parser.add_argument("--keep", action="store_true", help=f"write {RESULTS.name}")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        home = options.home or Path(folder) / "home"
        run = options.run or _program(TRAIN, options.dataset, home=home)[-1]
        rows = []
        for path, slider in ((f"tradeoff?run={run}", "Weight of fairness"), ("patterns", "Noise, σ")):
            found = measured(path, slider, options.seconds, options.releases, home=home)
            load = {"processors": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}
            rows.append({"page": path.partition("?")[0], **found, **load})
    table = pd.DataFrame(rows)
    print(table.T.to_string(header=False))
    if options.keep:
        table.to_csv(RESULTS, index=False)


def measured(path: str, slider: str, seconds: float, releases: int, *, home: Path) -> dict[str, Any]:
    """Frames of one drag of the slider with this name, and delays after several releases."""
    with _app(home) as address, _page() as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{address}/{path}")
        page.locator(".stage .main-svg").first.wait_for()
        # The patterns page trains its neural estimators in the background.
        page.wait_for_timeout(20_000 if path == "patterns" else 2_000)
        box = page.get_by_role("slider", name=slider).bounding_box()
        assert box is not None
        middle = box["y"] + box["height"] / 2

        def place(share: float) -> tuple[float, float]:
            return box["x"] + box["width"] * share, middle

        page.mouse.move(*place(0.5))
        page.mouse.down()
        page.locator(".stage").evaluate(WATCH_WORK)
        page.evaluate(RECORD)
        begun = time.monotonic()
        while (passed := time.monotonic() - begun) < seconds:
            page.mouse.move(*place(0.5 + 0.48 * math.sin(2 * passed)))
        frames = np.diff(page.evaluate(STOP))
        work = page.evaluate("() => window.work")
        page.mouse.up()
        page.wait_for_timeout(2000)
        answers = []
        for k in range(releases):
            page.evaluate(WATCH)
            page.mouse.move(*place(0.3))
            page.mouse.down()
            page.mouse.move(*place(0.35 + 0.5 * (k + 1) / releases), steps=5)
            page.mouse.up()
            answers.append(float(page.evaluate("() => window.answered")))
            page.wait_for_timeout(700)
        given = page.locator(".stage").evaluate("each => JSON.stringify(each.stage.data).length")
    own = len((stage_script() + stage_style()).encode())
    median, p95 = np.quantile(frames, [0.5, 0.95])
    work_median, work_p95 = np.quantile(work, [0.5, 0.95])
    return {
        "frames": len(frames),
        "frame_median_ms": round(float(median), 1),
        "frame_p95_ms": round(float(p95), 1),
        "work_median_ms": round(float(work_median), 1),
        "work_p95_ms": round(float(work_p95), 1),
        "answer_median_ms": round(float(np.median(answers))),
        "answer_most_ms": round(max(answers)),
        "given_bytes": given,
        "script_and_style_bytes": own,
        "elsewhere": sum(not url.startswith((address, "data:", "blob:")) for url in asked),
    }


if __name__ == "__main__":
    main()
