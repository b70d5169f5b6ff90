"""Location of the app's files, and options of the app's server."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from pathlib import Path

from fairdash.jobs.process import ONE_THREAD

_PACKAGE = Path(__file__).resolve().parents[1]

#: Settings of .streamlit/config.toml that keep the app private. Environment variables can't change them.
_PRIVATE = ("server.address", "server.showEmailPrompt", "browser.gatherUsageStats", "client.showErrorDetails")
#: Protections that are on by default. Environment variables can't switch them off.
_ON = ("server.enableXsrfProtection", "server.enableCORS")
#: Environment variables with paths. Relative paths begin at the folder in which the user starts the app.
_FOLDERS = ("FAIRDASH_HOME", "FAIRDASH_DATA")


def app_folder() -> Path:
    """Return the folder of app.py, pages/ and .streamlit/, in the installed package or in a checkout."""
    packed = _PACKAGE / "app"
    return packed if (packed / "app.py").is_file() else _PACKAGE.parent


def arguments_to_serve(port: int) -> list[str]:
    """Return command-line arguments of Streamlit with which only this machine can open the app."""
    settings = tomllib.loads((app_folder() / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    values = {name: settings[name.split(".")[0]][name.split(".")[1]] for name in _PRIVATE}
    values |= dict.fromkeys(_ON, True)
    private = [f"--{name}={str(value).lower()}" for name, value in values.items()]
    return ["run", str(app_folder() / "app.py"), "--server.port", str(port), *private]


def keep_terms() -> Callable[[], None]:
    """Delete expired uploads regularly while the server runs. Return a function that stops this."""
    from fairdash.runs.deletion import start_deletion_thread
    from fairdash.ui.cached import drop_deleted_entries

    return start_deletion_thread(then=drop_deleted_entries)


def enter_app_folder() -> None:
    """Change to the app's folder, because Streamlit reads its settings from the working directory.

    By default, the server computes in one thread. Pages compute little, so a second thread would cost more
    time than it saves.
    """
    os.environ.update({name: each for name, each in ONE_THREAD.items() if name not in os.environ})
    for name in _FOLDERS:
        if os.environ.get(name):
            os.environ[name] = str(Path(os.environ[name]).absolute())
    os.chdir(app_folder())
