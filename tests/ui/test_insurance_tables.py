"""The data page with tables of an insurer's: what is priced, what tells too much, what stays chosen."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from streamlit.delta_generator import DeltaGenerator

from fairdash.data.leak_check import check_data
from fairdash.data.source import load_source
from fairdash.dependence.classical import rank_link
from fairdash.training.sweep import default_plan
from fairdash.ui import cached
from fairdash.ui.text import number
from fairdash.utils.text import amount
from tests.data.workbooks import workbook
from tests.ui.conftest import open_page
from tests.ui.test_data_page import box, click, csv, roles_set, said, said_in_errors, upload


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


def test_what_the_target_can_be_read_off_is_named_and_one_click_brings_it_back() -> None:
    at = upload(csv(tariff()))
    assert "ClaimNb** is left out: it is 0 exactly where the target is" in said(at)
    assert features(at).value == ["VehPower"]
    at = click(at, "Use ClaimNb anyway")
    assert features(at).value == ["VehPower", "ClaimNb"]
    assert "ClaimNb** gives the target away" in "".join(each.value for each in at.warning)
    again = open_page("data", dataset=at.query_params["dataset"])
    assert features(again).value == ["VehPower", "ClaimNb"], "a recipe keeps what it has"
    at = click(at, "Leave out ClaimNb")
    assert features(at).value == ["VehPower"]


def test_postcodes_are_left_out_with_a_word_and_one_click_brings_them_in() -> None:
    at = upload(csv(tariff().assign(postcode=np.arange(600) % 90 + 1000)))
    assert features(at).value == ["VehPower"]
    assert "postcode** is left out: its numbers are codes of places" in said(at)
    at = click(at, "Use postcode anyway")
    assert features(at).value == ["VehPower", "postcode"]
    assert "postcode** is used as a number" in "".join(each.value for each in at.warning)


def test_a_premium_becomes_the_existing_price_once_claims_are_the_target() -> None:
    frame = tariff().rename(columns={"ClaimNb": "Anz. Schäden"}).drop(columns="ClaimAmount")
    at = upload(csv(frame.assign(**{"Beitrag p.a.": np.arange(600) % 70 + 200.25})))
    assert (box(at, "Target").value, box(at, "Existing prediction").value) == ("Beitrag p.a.", "None")
    at = click(at, "Claim frequency")
    assert (box(at, "Target").value, box(at, "Existing prediction").value) == ("Anz. Schäden", "Beitrag p.a.")
    at = box(at, "Existing prediction").set_value("None").run()
    assert box(at, "Existing prediction").value == "None"
    again = open_page("data", dataset=at.query_params["dataset"])
    assert box(again, "Existing prediction").value == "None", "a recipe keeps what it has"


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


@pytest.mark.parametrize(
    ("label", "target", "weight", "loss"),
    [
        ("Claim frequency", "ClaimNb", "Exposure", "poisson"),
        ("Claim severity", "ClaimAmount", "ClaimNb", "gamma"),
        ("Pure premium", "ClaimAmount", "Exposure", "tweedie"),
    ],
)
def test_targets_of_pricing_are_offered_by_name(label: str, target: str, weight: str, loss: str) -> None:
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
    ("label", "loss"),
    [
        ("Use them as they are", "squared_error"),
        ("Count them as 0", "tweedie"),
        ("Leave these rows out", "tweedie"),
    ],
)
def test_amounts_below_zero_are_asked_about_before_a_price_is_made(label: str, loss: str) -> None:
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
    assert default_plan(dataset).settings.loss == loss
    train = open_page("train", dataset=at.query_params["dataset"])
    assert train.selectbox(key="train.form loss").value == loss
    # Another way takes the place of the first.
    at = click(at, f"{label}: ClaimAmount")
    assert "below zero" in said_in_errors(at)


def test_the_loss_follows_another_target() -> None:
    at = upload(csv(tariff()))
    train = open_page("train", dataset=at.query_params["dataset"])
    assert train.selectbox(key="train.form loss").value == "tweedie"
    at = roles_set(at, target="VehPower", sensitive="DrivAge")
    assert at.query_params["dataset"] != train.query_params["dataset"]
    train.query_params["dataset"] = at.query_params["dataset"]
    train = train.run()
    assert train.selectbox(key="train.form loss").value == "squared_error"
    assert not train.checkbox(key="train.form balance").value


def test_a_title_and_a_total_are_said_and_can_be_decided_about() -> None:
    frame = tariff()
    rows = [["Portfolio 2024"], [], list(frame), *frame.to_numpy().tolist(), ["Total", None, None, 300, 9e5]]
    at = upload(workbook({"Tab": rows}), "policies.xlsx")
    assert not at.error
    assert "The column names are on line 3; the row above it is not used." in said(at)
    assert "A row below the table is left out, as a total or a note (line 604)." in said(at)
    assert "600 rows" in said(at)
    (below,) = [each for each in at.checkbox if each.label.startswith("Keep totals")]
    at = below.set_value(True).run()
    assert "601 rows" in said(at)
    (line,) = [each for each in at.number_input if each.label.startswith("Line with the column names")]
    assert line.value is None
    (below,) = [each for each in at.checkbox if each.label.startswith("Keep totals")]
    at = below.set_value(False).run()
    at = line.set_value(3).run()
    assert not at.error
    assert load_source(at.query_params["dataset"]).reading.header_row == 3
    at = line.set_value(2).run()
    assert "Line 2, chosen for the column names, is empty" in "".join(each.value for each in at.error)


def test_a_weak_link_is_told_on_all_rows_where_a_sample_can_not() -> None:
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({"age": rng.integers(18, 80, 30_000), "power": rng.integers(4, 12, 30_000)})
    frame["cost"] = (rng.normal(500, 100, 30_000) + 0.25 * frame["age"]).round(2)
    at = upload(csv(frame))
    (told,) = [each.value for each in at.caption if "On all 30,000 rows" in each.value]
    link = rank_link(frame["cost"].to_numpy(), frame["age"].to_numpy(dtype=float))
    assert abs(link.value) > link.smallest
    assert (
        f"the rank correlation is {number(link.value)}, more than the limit of {number(link.stays_within)}"
        in told
    )
    assert f"that so many rows would detect is about {number(link.smallest)}" in told


def test_what_is_being_read_is_shown_and_gone_when_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    caption = DeltaGenerator.caption
    monkeypatch.setattr(
        DeltaGenerator,
        "caption",
        lambda at, body, *rest, **more: (
            shown.append(body.replace("\\", "")) or caption(at, body, *rest, **more)
        ),
    )
    # A table that no other test has had read: what was read is kept.
    at = upload(csv(tariff().assign(only_here=np.arange(600.0))))
    assert [each for each in shown if "Reading policies.csv (0.0 MB): 600 rows so far" in each]
    assert "Reading policies.csv" not in said(at)


def test_what_was_clicked_does_not_come_back_over_a_choice_by_hand() -> None:
    at = click(upload(csv(tariff().assign(income=np.arange(600.0)))), "Pure premium")
    assert box(at, "Exposure").value == "Exposure"
    at = box(at, "Exposure").set_value("None: all rows have equal weight").run()
    at = box(at, "Sensitive").set_value("income").run()
    assert not at.exception
    assert box(at, "Exposure").value == "None: all rows have equal weight"


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
