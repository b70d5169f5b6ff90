"""Metadata that a release decides: FAIRDASH_REPOSITORY, the address that package and description link to.

Without it the package names no address, and the description has its links to other files as plain words.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(?P<image>!?)\[(?P<words>[^\]]*)\]\((?!https?://|#)(?P<file>[^)]+)\)")


class AddressHook(MetadataHookInterface):
    """Fills in the dynamic fields `readme` and `urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set both, from README.md and the environment."""
        at = os.environ.get("FAIRDASH_REPOSITORY", "").rstrip("/")

        def link(found: re.Match[str]) -> str:
            if not at:
                return "" if found["image"] else found["words"]
            kind = "raw" if found["image"] else "blob"
            return f"{found['image']}[{found['words']}]({at}/{kind}/main/{found['file']})"

        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": _LINK.sub(link, text)}
        files = {"Documentation": "tree/main/docs", "Issues": "issues", "Changelog": "blob/main/CHANGELOG.md"}
        metadata["urls"] = (
            {"Source": at} | {name: f"{at}/{path}" for name, path in files.items()} if at else {}
        )
