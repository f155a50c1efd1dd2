"""CrewAI: a crew with a checkpoint per task, a flow with one per method."""

from .adapter import CrewAIAdapter as CrewAIAdapter
