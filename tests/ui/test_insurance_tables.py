"""The data page with tables of an insurer's: what is priced, what tells too much, what stays chosen."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from fairdash.data.leak_check import check_data
from fairdash.data.source import load_source
from fairdash.training.sweep import default_plan
from fairdash.ui import cached
from fairdash.utils.text import amount
from tests.tiers import few
from tests.ui.conftest import box, open_page
from tests.ui.test_data_page import click, csv, said, said_in_errors, upload


def tariff(n: int = 600) -> pd.DataFrame:
    """Claims that cost what they cost, some policies shorter than others."""
    rng = np.random.default_rng(4)
    exposure = rng.choice([0.25, 0.5, 1.0], n)
    count = rng.poisson(0.6 * exposure)
    frame = pd.DataFrame({"DrivAge": rng.integers(18, 80, n), "VehPower": rng.integers(4, 12, n)})
    frame = frame.assign(Exposure=exposure, ClaimNb=count, ClaimAmount=0.0)
    frame.loc[count > 0, "ClaimAmount"] = rng.gamma(1.0, 900 * count[count > 0]).round(2) + 1
    return frame


def features(at):
    (found,) = [each for each in at.multiselect if each.label.startswith("Features")]
    return found


def test_features_stay_chosen_when_another_role_changes() -> None:
    frame = tariff().assign(rooms=np.arange(600) % 5, zone=["a", "b", "c"] * 200).drop(columns="ClaimNb")
    # Of this column nothing can be made: no recipe is stored, and the session alone knows what was chosen.
    frame.loc[3, "DrivAge"] = np.nan
    at = upload(csv(frame))
    at = features(at).set_value(["VehPower", "zone"]).run()
    at = box(at, "Exposure").set_value("None: all rows have equal weight").run()
    assert features(at).value == ["VehPower", "zone"]
    at = box(at, "Exposure").set_value("Exposure").run()
    assert features(at).value == ["VehPower", "zone"]
    at = box(at, "Existing prediction").set_value("VehPower").run()
    assert features(at).value == ["zone"]
    at = box(at, "Existing prediction").set_value("None").run()
    assert features(at).value == ["VehPower", "zone"]
    at = box(at, "Target").set_value("VehPower").run()
    assert "rooms" not in features(at).value, "left out by hand"


#: Label of a target of pricing, its columns, and the loss that it is trained with.
TARGETS = {
    "Claim frequency": ("ClaimNb", "Exposure", "poisson"),
    "Claim severity": ("ClaimAmount", "ClaimNb", "gamma"),
    "Pure premium": ("ClaimAmount", "Exposure", "tweedie"),
}


@pytest.mark.parametrize("label", few(TARGETS, "Claim severity"))
def test_targets_of_pricing_are_offered_by_name(label: str) -> None:
    target, weight, loss = TARGETS[label]
    frame = tariff()
    frame.loc[frame["ClaimNb"].idxmin(), "ClaimAmount"] = 70.0
    at = click(upload(csv(frame)), "Claim frequency")
    at = click(at, label)
    source = load_source(at.query_params["dataset"])
    assert (source.roles.target, source.roles.weight, source.roles.rate) == (target, weight, True)
    dataset = source.load()
    kept = frame[frame[weight] > 0]
    assert np.average(dataset.target, weights=dataset.weight) == pytest.approx(
        kept[target].sum() / kept[weight].sum()
    )
    settings = default_plan(dataset).settings
    assert settings.loss == loss
    assert settings.balance, "with a log link totals are preserved"
    train = open_page("train", dataset=at.query_params["dataset"])
    assert train.selectbox(key="train.form loss").value == loss
    assert train.checkbox(key="train.form balance").value
    without = int((frame["ClaimNb"] == 0).sum())
    if label == "Claim severity":
        assert f"{without} rows left out: “ClaimNb” can't be used there." in said(at)
        assert "“ClaimAmount” adds up to 70 in them." in said(at)
        assert "ClaimAmount (per claim)" in dataset.label("ClaimAmount")
        assert dataset.n_rows == 600 - without
    else:
        assert dataset.n_rows == 600
        assert "Gamma deviance is not available: it needs a target that is above 0" in said(train)


@pytest.mark.bad_input(59)
@pytest.mark.parametrize(
    "label", few(["Use them as they are", "Count them as 0", "Leave these rows out"], "Leave these rows out")
)
def test_amounts_below_zero_are_asked_about_before_a_price_is_made(label: str) -> None:
    frame = tariff().drop(columns="ClaimNb")
    free = frame.index[frame["ClaimAmount"] == 0]
    frame.loc[free[:7], "ClaimAmount"] = -120.5
    at = upload(csv(frame))
    assert [each.label for each in at.button if "ClaimAmount ÷ Exposure" in each.label], "a price target"
    assert f"7 places; lines {free[0] + 2}, " in said_in_errors(at)
    at = click(at, label)
    assert not at.error
    source = load_source(at.query_params["dataset"])
    dataset = source.load()
    cost, kept = frame["ClaimAmount"], np.ones(600, dtype=bool)
    if label == "Count them as 0":
        cost = cost.clip(lower=0)
    elif label == "Leave these rows out":
        kept = (cost >= 0).to_numpy()
    premium = cost[kept].sum() / frame["Exposure"][kept].sum()
    assert f"= {amount(premium)} over all rows" in said(at)
    # The table of columns shows the same number, and no average of totals.
    (table,) = [each.value for each in at.dataframe if "role" in each.value]
    assert table.set_index("role")["mean"]["target"] == pytest.approx(premium)
    loss = "squared_error" if label == "Use them as they are" else "tweedie"
    assert default_plan(dataset).settings.loss == loss
    # Another way takes the place of the first.
    at = click(at, f"{label}: ClaimAmount")
    assert "below zero" in said_in_errors(at)


def test_what_looks_too_good_is_warned_of_beside_the_roles_and_one_click_leaves_it_out() -> None:
    """Missing cells carry a leak as values do; what may only be one stays a feature until somebody
    decides."""
    frame = tariff(3000).drop(columns="ClaimAmount")
    rng = np.random.default_rng(1)
    frame["avrg"] = np.where(frame["ClaimNb"] > 0, rng.gamma(2.0, 400.0, 3000).round(2), np.nan)
    frame["calls"] = rng.poisson(0.05 + 4.0 * frame["ClaimNb"])
    at = upload(csv(frame))
    assert "avrg** is left out: it is missing exactly where the target is 0" in said(at)
    assert features(at).value == ["VehPower", "calls"]
    (warned,) = [each.value for each in at.warning if "too good" in each.value]
    assert warned.startswith("**calls** looks too good to be true: it alone explains")
    at = click(at, "Leave out calls")
    assert features(at).value == ["VehPower"]
    assert not [each for each in at.warning if "too good" in each.value]
    at = click(at, "Use avrg anyway")
    assert "avrg** gives the target away" in "".join(each.value for each in at.warning)
    again = open_page("data", dataset=at.query_params["dataset"])
    assert features(again).value == ["VehPower", "avrg"], "a recipe keeps what it has"


def test_leaving_a_feature_out_does_not_check_the_table_again(monkeypatch) -> None:
    checked = []

    def check(frame, **roles):
        checked.append(roles["columns"])
        return check_data(frame, **roles)

    monkeypatch.setattr(cached, "check_data", check)
    frame = tariff(1500).drop(columns="ClaimAmount")
    frame["calls"] = np.random.default_rng(2).poisson(0.05 + 4.0 * frame["ClaimNb"])
    at = upload(csv(frame))
    assert checked == [("VehPower", "calls")]
    at = click(at, "Leave out calls")
    assert features(at).value == ["VehPower"]
    assert len(checked) == 1


def test_parts_of_the_price_are_left_out_together_and_one_click_brings_them_back() -> None:
    frame = tariff(900).drop(columns="ClaimNb")
    rng = np.random.default_rng(1)
    frame["TPL"], frame["Hull"] = rng.gamma(9, 20, (2, 900)).round(2)
    frame["Premium"] = (1.19 * (frame["TPL"] + frame["Hull"])).round(2)
    at = upload(csv(frame))
    assert box(at, "Existing prediction or price").value == "Premium"
    assert features(at).value == ["VehPower"]
    assert "**Each of 2 columns** is left out: “Premium” is 1.19 times the sum of “TPL”, “Hull”." in said(at)
    at = click(at, "Use these 2 columns anyway")
    assert features(at).value == ["VehPower", "TPL", "Hull"]
    (warned,) = [each.value for each in at.warning if "price away" in each.value]
    assert warned.startswith("**Each of 2 columns** gives the price away")
    at = click(at, "Leave out these 2 columns")
    assert features(at).value == ["VehPower"]
