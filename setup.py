"""Puts the app, which lies at the top of the repository for `streamlit run app.py`, into the built package.

All else is in pyproject.toml.
"""

from collections.abc import Iterator
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

#: Where fairdash/ui/serving.py looks for the app in an installed package.
HOME = Path("fairdash", "app")


class BuildWithApp(build_py):
    """The package's files, and those of the app in a folder of their own among them."""

    def run(self) -> None:
        super().run()
        # An editable install finds the app where it is.
        if not self.editable_mode:
            for source, target in self._app():
                self.mkpath(str(target.parent))
                self.copy_file(str(source), str(target))

    def get_source_files(self) -> list[str]:
        # Those of a source distribution.
        return [*super().get_source_files(), *(str(source) for source, _ in self._app())]

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        added = [] if self.editable_mode else [str(target) for _, target in self._app()]
        return [*super().get_outputs(include_bytecode), *added]

    def _app(self) -> Iterator[tuple[Path, Path]]:
        for source in (
            Path("app.py"),
            Path(".streamlit", "config.toml"),
            *sorted(Path("pages").rglob("*.py")),
        ):
            yield source, Path(self.build_lib) / HOME / source


setup(cmdclass={"build_py": BuildWithApp})
