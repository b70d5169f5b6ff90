"""Conversion of a document without scripts to a tagged PDF, with hashes of its sources on every page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairdash.errors import MissingPackageError
from fairdash.storage import sha256

_HASHED = {"sha256": "input file", "rows_sha256": "cells used"}
#: Style that is added to the style of the document. Hashes are in small type, and only a long table may have
#: a page break. The rules are marked important, because WeasyPrint would otherwise prefer the document's
#: style.
_STYLE = """table:has(tr:nth-child(25)) {{ break-inside: auto !important; }}
@page {{
  margin-bottom: 20mm !important;
  color: #55606e;
  @bottom-left {{ content: "{lines}"; white-space: pre; font: 6pt/1.4 monospace; width: 80%; }}
  @bottom-right {{ content: "Page " counter(page) " of " counter(pages); font: 8pt sans-serif; }}
}}"""


def as_pdf(document: bytes, origin: Mapping[str, Any]) -> bytes:
    """Print HTML as PDF/UA-1, tagged, with language and title; the same input gives the same bytes.

    Parameters
    ----------
    document
        HTML that needs no script and loads no other files, such as a document for filing.
    origin
        Origin of the audited table (:attr:`fairdash.auditing.result.Findings.origin`), whose hashes are shown
        at the foot of each page, together with the hash of the document.

    Raises
    ------
    MissingPackageError
        WeasyPrint or pango is not installed.
    """
    weasyprint = printer()
    hashes = {f"SHA-256, {title}": origin[name] for name, title in _HASHED.items() if origin.get(name)}
    hashes |= {"SHA-256, this document as HTML": sha256(document)}
    widest = max(map(len, hashes))
    style = _STYLE.format(lines=r"\a ".join(f"{title:{widest}}  {each}" for title, each in hashes.items()))
    fetcher = weasyprint.urls.URLFetcher(allowed_protocols={"data"})
    page = weasyprint.HTML(string=document.decode(), url_fetcher=fetcher)
    return bytes(page.write_pdf(stylesheets=[weasyprint.CSS(string=style)], pdf_variant="pdf/ua-1"))


def printer() -> Any:
    """Import and return WeasyPrint; call this before a long computation, so that errors come early.

    Raises
    ------
    MissingPackageError
        WeasyPrint is not installed, or pango, its library for text.
    """
    try:
        import weasyprint
        import weasyprint.urls
    except OSError as error:
        raise MissingPackageError.of(
            "PDF files need the library pango, which is not installed",
            "Install it: apt install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0 on Debian and "
            "Ubuntu, brew install pango on macOS, pacman -S mingw-w64-x86_64-pango in MSYS2 on Windows.",
        ) from error
    return weasyprint
