"""Files to take away: a constant model's report, and what is said where a file can't be made."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace

import numpy as np
import pytest

from fairdash.errors import RunError
from fairdash.reports.html import render_report
from fairdash.runs import worker
from fairdash.runs.models import ModelJob, create_model
from fairdash.ui.files import Making
from tests.ui.conftest import calm, open_page


def press(at, label):
    (button,) = [each for each in at.download_button if each.label == label]
    return button.click().run()


def test_a_constant_model_is_shown_and_reported(run_of_two_methods, another_result):
    spread = 5e-9
    read = run_of_two_methods.read_result()
    noise = np.random.default_rng(0).normal(size=read.predictions.shape)
    constant = replace(read, predictions=0.0716 + spread * noise)
    another_result(constant)
    at = calm(open_page("tradeoff", run=run_of_two_methods.id))
    more = "tradeoff.comparison more"
    for panel in at.segmented_control(key=more).options:
        at = calm(at.segmented_control(key=more).set_value(panel).run())
    for each in ("Report (HTML)", "The whole path (CSV)", "All figures (CSV)", "Test predictions (CSV)"):
        at = calm(press(at, each))
        assert any(button.label == each for button in at.download_button)


def test_a_report_that_can_t_be_made_is_said_on_the_page(run_of_two_methods, monkeypatch, caplog):
    def fail(*args, **kwargs):
        raise ZeroDivisionError("Zoe's premium")

    at = calm(open_page("tradeoff", run=run_of_two_methods.id))
    monkeypatch.setattr("fairdash.ui.tradeoff.run.render_report", fail)
    at = calm(at.run())
    with caplog.at_level(logging.ERROR, logger="fairdash.app"):
        at = press(at, "Report (HTML)")
    (error,) = at.error
    assert "Unexpected error" in error.value
    assert "Zoe" not in error.value + caplog.text
    assert "ZeroDivisionError" in caplog.text
    monkeypatch.setattr("fairdash.ui.tradeoff.run.render_report", render_report)
    calm(press(calm(at.run()), "Report (HTML)"))


def test_a_damaged_model_is_said_on_the_page(run_of_two_methods):
    run = run_of_two_methods
    job = create_model(run.spec.source, run.spec.plan, run=run.id, method="hgr_spline", lam=1.0)
    assert worker.main(job.id) == 0
    at = calm(open_page("tradeoff", run=run.id))
    at = calm(press(at, "Model, refitted on all rows (zip)"))
    (ModelJob(job.id).folder / "result" / "bundle.zip").write_bytes(b"PK")
    at = press(calm(at.run()), "Model, refitted on all rows (zip)")
    assert "damaged" in at.error[0].value


def test_a_file_is_made_once_whoever_asks_first():
    times = []

    def make():
        times.append(1)
        return b"content"

    making = Making(make)
    threads = [threading.Thread(target=making.content) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert (making.content(), making.failure(), len(times)) == (b"content", None, 1)


def test_the_download_itself_fails_without_the_cause():
    def make():
        raise ValueError("could not convert string to float: 'Zoe'")

    with pytest.raises(RunError) as caught:
        Making(make).content()
    assert "Zoe" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_the_file_that_was_clicked_for_is_kept_until_the_browser_asks(run_of_two_methods, monkeypatch):
    """The button is drawn anew, and the old file forgotten, only after that."""
    at = calm(open_page("tradeoff", run=run_of_two_methods.id))
    seen = []
    monkeypatch.setattr(
        "fairdash.ui.files.Making.wait_until_asked", lambda making, seconds: seen.append(making)
    )
    calm(press(at, "All figures (CSV)"))
    assert len(seen) == 1
