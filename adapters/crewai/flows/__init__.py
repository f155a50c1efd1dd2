"""Flows: a checkpoint after each method."""
