"""A Django project with the same login and GetUsageLimits, for comparison."""
