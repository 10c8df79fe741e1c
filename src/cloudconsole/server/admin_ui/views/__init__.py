"""Views of the admin UI, one per page."""
