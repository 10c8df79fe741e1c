"""The files that accounts name for their passwords."""

from pathlib import Path as FilePath

from cloudconsole.operator.cloudfile.document import Document
from cloudconsole.operator.cloudfile.model import CloudFile
from cloudconsole.operator.cloudfile.problems import Problem
from cloudconsole.operator.cloudfile.shape import items_of_tenants
from cloudconsole.operator.gaps import UNUSABLE
from cloudconsole.operator.passwords import read_password_file
from cloudconsole.operator.words import path_text


def read_passwords(model: CloudFile, folder: FilePath, document: Document) -> tuple[dict[str, str], list[Problem]]:
    """The passwords by username; the files' paths are relative to the folder."""
    passwords: dict[str, str] = {}
    problems: list[Problem] = []
    for account_path, account in items_of_tenants(model, "accounts"):
        if account.password_file in (None, UNUSABLE):
            continue
        try:
            passwords[account.username] = read_password_file(folder / account.password_file)
        except ValueError as error:
            path = (*account_path, "password_file")
            problems.append(Problem(document.line_of(path), path_text(path), str(error)))
    return passwords, problems
