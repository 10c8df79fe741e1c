"""The files that accounts name for their passwords."""

from pathlib import Path as FilePath

from cloudconsole.operator.cloudfile.document import Document
from cloudconsole.operator.cloudfile.model import CloudFile
from cloudconsole.operator.cloudfile.problems import Problem
from cloudconsole.operator.cloudfile.shape import items_of_tenants
from cloudconsole.operator.gaps import UNUSABLE
from cloudconsole.operator.passwords import PasswordPolicy, read_password_file
from cloudconsole.operator.words import path_text


def read_passwords(
    model: CloudFile, folder: FilePath, document: Document, policy: PasswordPolicy
) -> tuple[dict[str, str], list[Problem]]:
    """The passwords by username, held to the policy; the files' paths are relative to the folder."""
    passwords: dict[str, str] = {}
    problems: list[Problem] = []
    for account_path, account in items_of_tenants(model, "accounts"):
        if account.password_file in (None, UNUSABLE):
            continue
        problem = None
        try:
            password = passwords[account.username] = read_password_file(folder / account.password_file)
            if account.role is not UNUSABLE:
                problem = policy.problem(password, account.role)
        except ValueError as error:
            problem = str(error)
        if problem is not None:
            path = (*account_path, "password_file")
            problems.append(Problem(document.line_of(path), path_text(path), problem))
    return passwords, problems
