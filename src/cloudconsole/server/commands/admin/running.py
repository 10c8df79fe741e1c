"""Running a command over a store: with its settings, and with a plain word for whatever goes wrong."""

import argparse
import sqlite3
import sys
from collections.abc import Callable
from typing import Final

from sqlalchemy.exc import DBAPIError

from cloudconsole.cli import stdout
from cloudconsole.operator.cloud_file.errors import CloudFileError
from cloudconsole.operator.errors import OperatorError, Overridable
from cloudconsole.server.commands.admin.stores import settings_for
from cloudconsole.server.commands.refusing import REFUSED, refuse
from cloudconsole.server.config.settings import SettingError, Settings
from cloudconsole.spec.text import visible
from cloudconsole.store.base import StoreError
from cloudconsole.store.sql import is_busy

DONE: Final = 0


def run_with_settings(arguments: argparse.Namespace, command: Callable[[argparse.Namespace, Settings], None]) -> int:
    try:
        settings = settings_for(arguments)
    except SettingError as problem:
        return refuse(str(problem))
    try:
        command(arguments, settings)
    except CloudFileError as refused:
        sys.stderr.writelines(f"{visible(line)}\n" for line in str(refused).splitlines())
        return REFUSED
    except Overridable as refused:
        return refuse(f"{refused}; --force does it nevertheless")
    except (OperatorError, StoreError) as refused:
        return refuse(str(refused))
    except (DBAPIError, sqlite3.Error) as problem:
        if is_busy(problem):
            return refuse(f"others are changing {settings.store}, and did not stop for long enough: try again")
        reason = problem.orig if isinstance(problem, DBAPIError) else problem
        return refuse(f"{settings.store} cannot be used: {reason}")
    except UnicodeEncodeError:
        return refuse("an argument is not UTF-8 text")
    except OSError as problem:
        if problem.filename is None:
            raise stdout.OutputError(problem) from problem
        return refuse(f"{problem.filename}: {problem.strerror}")
    return DONE
