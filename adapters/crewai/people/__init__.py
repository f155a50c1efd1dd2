"""Questions to people: feedback on a flow's methods, and what CrewAI asks at the terminal."""
