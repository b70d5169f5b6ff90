"""Options are declared once: plan, its JSON and the command refuse the same values in the same words."""

from __future__ import annotations

import pytest

from fairdash.__main__ import main
from fairdash.auditing.plan import AuditPlan, plan_of
from fairdash.cli import command_line, help_text
from fairdash.errors import OptionError
from fairdash.utils.options import options_of
from fairdash.utils.records import from_plain, to_plain


@pytest.mark.parametrize(
    ("option", "value"),
    [("max_gap", 1.0), ("max_gap", 0.0), ("reliability", (0.5, 1.5)), ("cap", 0.0), ("random_state", -1)],
)
def test_a_value_out_of_its_range_is_refused_in_the_same_words(option, value, capsys):
    with pytest.raises(OptionError) as of_plan:
        plan_of("price", "age", **{option: value})
    plain = to_plain(plan_of("price", "age")) | {option: list(value) if option == "reliability" else value}
    with pytest.raises(OptionError) as of_json:
        from_plain(AuditPlan, plain)
    values = value if isinstance(value, tuple) else (value,)
    words = [part for each in values for part in (f"--{option.replace('_', '-')}", str(each))]
    assert main(["audit", "absent.csv", "--price", "price", "--sensitive", "age", *words]) == 2
    assert str(of_plan.value) == str(of_json.value) == capsys.readouterr().err.strip()
    assert f"Option “{option}”: it is out of its range. Give a number " in str(of_plan.value)


def test_the_ends_of_a_range_are_in_it_or_not_as_it_says():
    assert plan_of("price", "age", reliability=1.0, random_state=0).reliability == (1.0,)
    with pytest.raises(OptionError, match="above 0 and below 1, such as 0"):
        plan_of("price", "age", max_gap=1)


def test_the_command_has_each_option_with_its_help():
    said = " ".join(help_text(command_line(), ["audit"]).split())
    for each in options_of(AuditPlan).values():
        assert each.metadata["help"].rstrip(".") in said
