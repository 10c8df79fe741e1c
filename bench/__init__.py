"""Benchmarks: requests per second of variants measured side by side in one run. Not part of the installed package."""
