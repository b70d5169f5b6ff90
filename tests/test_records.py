"""Plain values and back, for every plan and description there is."""

import json

import pytest

from fairdash.errors import Fix, OptionError
from fairdash.simulations.scene import Scene
from fairdash.training.lam_search import LamSearch, Target
from fairdash.training.search import SearchGrid, SettingsSearch
from fairdash.training.settings import TrainingSettings
from fairdash.training.sweep import Sweep
from fairdash.utils.records import from_plain, to_plain

RECORDS = [
    Fix("keep", "region"),
    Scene(points=((0.0, 1.0), (2.0, 3.0)), pattern="points"),
    TrainingSettings(hidden=(4, 2), patience=3, architecture="bins"),
    SearchGrid(hidden=((4,), (4, 2))),
    Sweep(lams=(0.5, 2.0), tune=True),
    SettingsSearch(lam=2.0),
    LamSearch(target=Target.parse("hgr_kde<=floor+0.02"), lams=(1.0,)),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_a_record_comes_back_from_json_as_it_was(record: object) -> None:
    text = json.dumps(to_plain(record))
    assert from_plain(type(record), json.loads(text)) == record


@pytest.mark.parametrize("values", [{"kind": "keep"}, {"kind": "keep", "column": "a", "more": 1}, 5])
def test_what_is_no_record_is_refused(values: object) -> None:
    with pytest.raises(ValueError, match="not the values of a Fix"):
        from_plain(Fix, values)


def test_what_the_record_itself_refuses_is_said_in_its_words() -> None:
    with pytest.raises(OptionError, match="n_splits"):
        from_plain(Sweep, {"lams": [1.0], "n_splits": 0})
