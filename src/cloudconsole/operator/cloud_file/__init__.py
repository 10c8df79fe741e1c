"""A cloud in a file: reading it, saying all that is wrong with it, making the store equal to it, writing it out."""

from cloudconsole.operator.cloud_file.dumper import dump
from cloudconsole.operator.cloud_file.errors import CloudFileError, Problem
from cloudconsole.operator.cloud_file.loader import Summary, load

__all__ = ["CloudFileError", "Problem", "Summary", "dump", "load"]
