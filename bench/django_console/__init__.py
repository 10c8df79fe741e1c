"""The same three steps and GetUsageLimits, written the ordinary way in Django, to be compared with."""
