"""The embedded store as a whole."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from sqlalchemy import Engine

from cloudconsole.store.engine import Part
from cloudconsole.store.sqlite import preparing
from cloudconsole.store.sqlite.engine import database_file, open_engine, opened
from cloudconsole.store.sqlite.reader import FileReader


class FolderStore:
    settle_seconds: Final = 0.0
    """Every call looks whether anything was committed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __str__(self) -> str:
        return f"the store in {self.folder}"

    @property
    def place(self) -> str:
        return str(self.folder.resolve())

    def open_engine(self, part: Part) -> Engine:
        return open_engine(self.folder, part)

    def opened(self, part: Part) -> AbstractContextManager[Engine]:
        return opened(self.folder, part)

    def reader(self) -> FileReader:
        return FileReader(self.folder)

    def is_there(self) -> bool:
        return database_file(self.folder, "cloud").exists()

    def migrate(self, actor: str | None = None) -> None:
        preparing.prepare(self.folder, actor=actor)

    def prepare(self, actor: str | None = None) -> None:
        self.migrate(actor)

    def require_current(self, part: Part) -> None:
        preparing.require_current(self.folder, part)
