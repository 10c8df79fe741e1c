"""Cloud files: parsing, validation, loading into a store, dumping a store."""

from cloudconsole.operator.cloud_file.dumper import dump
from cloudconsole.operator.cloud_file.errors import CloudFileError, Problem
from cloudconsole.operator.cloud_file.loader import Summary, load

__all__ = ["CloudFileError", "Problem", "Summary", "dump", "load"]
