"""CrewAI: crews with a checkpoint per task, flows with a checkpoint per method."""

from .adapter import CrewAIAdapter as CrewAIAdapter
