"""One finished run of each kind and one audit for all tests: ``python -m tests.shared FOLDER`` makes them.

In a test session, the first process that needs one makes it, and the other processes wait and read it.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from filelock import FileLock


@contextmanager
def quick_models() -> Iterator[None]:
    """A third of an audit's trees, smaller and with three times the learning rate, and few epochs."""
    from fairdash.utils.trees import boosted_trees

    def few(*, max_iter: int = 100, **options: Any) -> Any:
        small = {"max_leaf_nodes": 8, "learning_rate": 0.3, "max_iter": max_iter // 3}
        return boosted_trees(**options | small)

    with pytest.MonkeyPatch.context() as patch:
        for place in ("auditing.models.premiums", "data.proxies", "tariff.trees", "tariff.plan"):
            patch.setattr(f"fairdash.{place}.boosted_trees", few)
        patch.setattr("fairdash.training.baselines.MAX_TREES", 20)
        patch.setattr("fairdash.training.settings._MAX_EPOCHS", 4)
        yield


def _run() -> None:
    from tests.runs.finished import finished

    finished().rename("A name: ![x](http://evil.example)")


def _front(name: str) -> Callable[[], None]:
    def make() -> None:
        from fairdash.runs import worker
        from fairdash.runs.store import Run, RunSpec
        from fairdash.training.defaults import current_defaults
        from tests.ui import conftest

        spec = RunSpec(source=conftest.SOURCE, plan=getattr(conftest, name), defaults=current_defaults())
        with quick_models():
            assert worker.main(Run.create(spec).id) == 0

    return make


def _audit(**asked: object) -> Callable[[], None]:
    def make() -> None:
        import fairdash as fd
        from tests.auditing.test_audit import ROLES, policies

        with quick_models():
            found = fd.audit(policies(), **ROLES, controls=["zone"], **asked)
        found.save(Path(os.environ["FAIRDASH_HOME"]) / "a.zip")

    return make


#: Name, mapped to the function that fills the home in FAIRDASH_HOME.
MADE: Mapping[str, Callable[[], None]] = MappingProxyType(
    {
        "run": _run,
        "front": _front("PLAN"),
        "front of two methods": _front("TWO_METHODS"),
        # All questions for one price, with a rating factor and a second price.
        "audit": _audit(candidate="new"),
        # The questions that evidence and page of one price need, without the trained models of questions 6
        # and 8.
        "audit of one price": _audit(questions=(1, 2, 3, 4, 5, 7, 9)),
    }
)


def home_of(name: str, folder: Path) -> Path:
    """The home with this name in a folder, made by the first process that needs it."""
    home = folder / name.replace(" ", "-")
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{home}.lock"):
        if not home.exists():
            part = home.with_suffix(".part")
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("FAIRDASH_HOME", str(part))
                part.mkdir()
                MADE[name]()
            part.rename(home)
    return home


if __name__ == "__main__":
    for each in MADE:
        print(home_of(each, Path(sys.argv[1])))
