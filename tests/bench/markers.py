"""Skip markers."""

import os
import shutil

import pytest

needs_wrk = pytest.mark.skipif(
    shutil.which("wrk") is None and os.environ.get("CI") != "true", reason="wrk is not installed"
)
