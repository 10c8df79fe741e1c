"""A cloud in a file: reading it, saying all that is wrong with it, making the store equal to it, writing it out."""

from cloudconsole.operator.cloudfile.dump import dump
from cloudconsole.operator.cloudfile.load import Summary, load
from cloudconsole.operator.cloudfile.problems import CloudFileError, Problem

__all__ = ["CloudFileError", "Problem", "Summary", "dump", "load"]
