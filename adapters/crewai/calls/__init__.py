"""Calls of models, tools and memories: recorded, so that a restarted task or method does not make them again."""
