"""The benchmark: ratios of calls a second, measured side by side in one run. Not part of the installed package."""
