"""Reading tables, roles, the :class:`Dataset` that training takes in, and the catalogue of public data."""

from fairdash.data.catalogue import CATALOGUE, CatalogueEntry, CatalogueOption, load_dataset
from fairdash.data.dataset import Dataset
from fairdash.data.roles import Roles
from fairdash.data.source import CatalogueSource, DatasetSource, load_source, save_source

__all__ = [
    "CATALOGUE",
    "CatalogueEntry",
    "CatalogueOption",
    "CatalogueSource",
    "Dataset",
    "DatasetSource",
    "Roles",
    "load_dataset",
    "load_source",
    "save_source",
]
