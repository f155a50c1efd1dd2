"""Coded stores: contents are compressed, signed or encrypted before a store gets them, and checked when they are
read."""
