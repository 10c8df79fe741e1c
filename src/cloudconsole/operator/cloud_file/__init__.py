"""Cloud files: parsing, validation, loading into a store, dumping a store."""

from cloudconsole.operator.cloud_file.dumper import dump
from cloudconsole.operator.cloud_file.loader import Summary, load
from cloudconsole.operator.errors import CloudFileError, FileProblem

__all__ = ["CloudFileError", "FileProblem", "Summary", "dump", "load"]
