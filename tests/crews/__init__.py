"""Tests of the CrewAI adapter that need processes, or a store of their own."""
