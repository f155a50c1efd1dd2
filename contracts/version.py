"""The version of Batonpass."""

__version__ = "0.1.0"
