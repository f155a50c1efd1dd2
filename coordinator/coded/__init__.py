"""Coded stores: what is kept is compressed, signed or encrypted before a store sees it, and checked when it is read."""
