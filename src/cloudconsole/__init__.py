"""Cloud Console: the programmatic interface of a cloud hosting console."""

__version__ = "0.1.0"
