"""Reading tables, roles, the :class:`Dataset` that training takes in, and the catalogue of public data.

Nothing heavy is imported here: each name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairdash.utils.lazy import lazy_names

if TYPE_CHECKING:
    from fairdash.data.building import build_dataset
    from fairdash.data.catalogue import CATALOGUE, CatalogueEntry, CatalogueOption, load_dataset
    from fairdash.data.column_profile import ColumnProfile, profile_table
    from fairdash.data.dataset import Dataset
    from fairdash.data.proxies import ProxyRanking, rank_proxies
    from fairdash.data.readers.reading import read_table
    from fairdash.data.readers.report import ReadingOptions, ReadingReport
    from fairdash.data.roles import Roles
    from fairdash.data.source import CatalogueSource, DatasetSource, UploadSource, load_source, save_source
    from fairdash.data.suggestion import Suggestion, suggest_roles
    from fairdash.data.uploads import (
        Upload,
        delete_expired,
        delete_upload,
        keep_upload,
        list_uploads,
        read_upload,
        set_retention,
    )

_HOMES = {
    "CATALOGUE": "fairdash.data.catalogue",
    "CatalogueEntry": "fairdash.data.catalogue",
    "CatalogueOption": "fairdash.data.catalogue",
    "CatalogueSource": "fairdash.data.source",
    "ColumnProfile": "fairdash.data.column_profile",
    "Dataset": "fairdash.data.dataset",
    "DatasetSource": "fairdash.data.source",
    "ProxyRanking": "fairdash.data.proxies",
    "ReadingOptions": "fairdash.data.readers.report",
    "ReadingReport": "fairdash.data.readers.report",
    "Roles": "fairdash.data.roles",
    "Suggestion": "fairdash.data.suggestion",
    "Upload": "fairdash.data.uploads",
    "UploadSource": "fairdash.data.source",
    "build_dataset": "fairdash.data.building",
    "delete_expired": "fairdash.data.uploads",
    "delete_upload": "fairdash.data.uploads",
    "keep_upload": "fairdash.data.uploads",
    "list_uploads": "fairdash.data.uploads",
    "load_dataset": "fairdash.data.catalogue",
    "load_source": "fairdash.data.source",
    "profile_table": "fairdash.data.column_profile",
    "rank_proxies": "fairdash.data.proxies",
    "read_table": "fairdash.data.readers.reading",
    "read_upload": "fairdash.data.uploads",
    "save_source": "fairdash.data.source",
    "set_retention": "fairdash.data.uploads",
    "suggest_roles": "fairdash.data.suggestion",
}

__all__ = [
    "CATALOGUE",
    "CatalogueEntry",
    "CatalogueOption",
    "CatalogueSource",
    "ColumnProfile",
    "Dataset",
    "DatasetSource",
    "ProxyRanking",
    "ReadingOptions",
    "ReadingReport",
    "Roles",
    "Suggestion",
    "Upload",
    "UploadSource",
    "build_dataset",
    "delete_expired",
    "delete_upload",
    "keep_upload",
    "list_uploads",
    "load_dataset",
    "load_source",
    "profile_table",
    "rank_proxies",
    "read_table",
    "read_upload",
    "save_source",
    "set_retention",
    "suggest_roles",
]

__getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
