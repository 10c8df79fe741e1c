"""Parts of the SQLite suite, one module each: `run` measures, `tables` renders the results."""
