"""Crews: a checkpoint after each task."""
