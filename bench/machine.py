"""The machine and the program versions of a run."""

import platform
import re
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from msgspec import Struct

PACKAGES: Final = ("uvicorn", "httptools", "uvloop", "msgspec", "httpx2", "django", "gunicorn")


class Machine(Struct, frozen=True):
    date: str
    processor: str
    cores: int
    memory_gb: int
    system: str
    python: str
    wrk: str
    versions: dict[str, str]


def describe() -> Machine:
    processors = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*: (.*)$", processors, re.MULTILINE)
    memory = re.search(r"^MemTotal:\s+(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
    wrk = subprocess.run(["wrk", "--version"], capture_output=True, text=True, check=False)
    return Machine(
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        processor=model[1] if model else platform.machine(),
        cores=len(re.findall(r"^processor\s*:", processors, re.MULTILINE)),
        memory_gb=round(int(memory[1]) / 2**20) if memory else 0,
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        wrk=(wrk.stdout + wrk.stderr).partition("[")[0].removeprefix("wrk ").strip(),
        versions={name: found for name in PACKAGES if (found := _version(name))},
    )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
