"""Bundles: threads with their jobs as files."""
