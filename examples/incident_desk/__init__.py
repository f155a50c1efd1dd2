"""The demo's pipeline: a log is triaged in LangGraph, written up by a CrewAI crew and reviewed by an AutoGen team."""
