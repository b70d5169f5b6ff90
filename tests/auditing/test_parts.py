"""An audit's features: neither parts of a price nor what gives the outcome away, and no policy numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fairdash as fd
from fairdash.__main__ import main
from fairdash.auditing.plan import columns_of
from fairdash.auditing.questions.attribution import drivers_of
from fairdash.auditing.table import AuditTable


def premiums(n: int = 800, *, rows_each: int = 1) -> pd.DataFrame:
    """Liability follows the age, hull does not, and the total is their sum; two rows of a policy are alike."""
    rng = np.random.default_rng(0)
    age, power = rng.integers(18, 80, n), rng.integers(4, 15, n)
    frame = pd.DataFrame({"age": age, "power": power, "zone": rng.choice(list("abc"), n)})
    frame["tpl"] = (180 + 3.0 * (80 - age) + 5 * rng.normal(size=n)).round(2)
    frame["hull"] = (20 * power * rng.gamma(20, 0.05, n)).round(2)
    frame["total"] = (frame["tpl"] + frame["hull"]).round(2)
    frame["key"] = rng.permutation(9 * n)[:n]
    frame = frame.loc[frame.index.repeat(rows_each)].reset_index(drop=True)
    frame["nb"] = rng.poisson(0.3, len(frame))
    frame["claims"] = np.where(frame["nb"] > 0, rng.gamma(2, 300, len(frame)).round(2), 0.0)
    return frame if rows_each > 1 else frame.drop(columns="key")


def test_a_price_that_is_the_sum_of_its_parts_uses_age() -> None:
    table = AuditTable.of(premiums(), columns_of("total", "age"))
    assert list(table.features) == ["power", "zone", "nb", "claims"]
    assert list(table.notes) == [
        "2 features give the price away: “total” is the sum of “tpl”, “hull”. fairdash does not use them "
        "unless you name the features (--feature)."
    ]
    _, itself, _, _ = drivers_of(table)
    assert itself.ci_low > 0.05


def test_named_features_are_used_whatever_they_give_away() -> None:
    table = AuditTable.of(premiums(), columns_of("total", "age", features=["power", "tpl", "hull"]))
    assert list(table.features) == ["power", "tpl", "hull"]
    (note,) = table.notes
    assert note.endswith("“total” is the sum of “tpl”, “hull”. fairdash uses them because they are named.")


def test_parts_of_a_second_price_and_what_is_known_with_a_claim_are_no_features() -> None:
    frame = premiums()
    frame["new_tpl"] = (0.9 * frame["tpl"]).round(2)
    frame["new"] = (frame["new_tpl"] + frame["hull"]).round(2)
    table = AuditTable.of(frame, columns_of("total", "age", candidate="new", outcome="claims"))
    assert list(table.features) == ["power", "zone"]
    for part in (
        "The feature “nb” gives the outcome away: it is 0 exactly where the outcome is.",
        "2 features give the price away: “total” is the sum of “tpl”, “hull”.",
        "The feature “new_tpl” gives the price away: “tpl” is 1.111 times “new_tpl”.",
    ):
        assert part in " ".join(table.notes)


@pytest.fixture
def panel() -> pd.DataFrame:
    return premiums(300, rows_each=2)


def test_policies_are_named_and_counted(panel) -> None:
    given = {"price": "total", "sensitive": "age", "questions": [1, 9]}
    alone, together = fd.audit(panel, **given), fd.audit(panel, **given, groups="key")
    said = "fairdash counts each row as independent. 300 policies in 600 rows: use --group key."
    assert said in alone.notes
    assert "key" not in AuditTable.of(panel, columns_of("total", "age")).features
    assert "The rows belong to 300 policies (“key”), which count as independent." in together.notes
    assert "600 rows of 300 policies like these" in together.answers[-1].sentence
    alone, together = (np.ptp(each.verdicts[["ci_low", "ci_high"]].iloc[0]) for each in (alone, together))
    assert together > alone


@pytest.mark.parametrize(
    "command",
    [
        "audit FILE --price total --sensitive age --question 1",
        "check FILE --target total --sensitive age",
        "measure pearson FILE --u total --v age --permutations 19 --bootstrap 0",
        "sweep --file FILE --predict total --sensitive age --features power --methods standard --splits 0",
    ],
    ids=lambda command: command.split()[0],
)
def test_commands_name_the_policies_where_no_group_is_named(command, panel, tmp_path, capsys) -> None:
    path = tmp_path / "panel.csv"
    panel.drop(columns=["nb", "claims"]).to_csv(path, index=False)
    command = [str(path) if part == "FILE" else part for part in command.split()]
    for group, is_said in (([], True), (["--group", "key"], False)):
        main([*command, *group])
        said = "".join(capsys.readouterr())
        assert ("300 policies in 600 rows: use --group key." in said) == is_said
