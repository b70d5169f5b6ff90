"""Reading tables, roles, the :class:`Dataset` that training takes in, and the catalogue of public data."""

from fairdash.data.building import build_dataset
from fairdash.data.catalogue import CATALOGUE, CatalogueEntry, CatalogueOption, load_dataset
from fairdash.data.dataset import Dataset
from fairdash.data.profile import ColumnProfile, profile_table
from fairdash.data.proxies import ProxyRanking, rank_proxies
from fairdash.data.reading import ReadingOptions, ReadingReport, read_table
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
