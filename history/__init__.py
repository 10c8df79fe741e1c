"""Random work on a console of several replicas while things break, and whether all that came of it could be so."""
