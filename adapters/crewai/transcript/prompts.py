"""Prompts: what CrewAI itself says to an agent around a task. Another framework's agent should not take it for a
person's words. Needs no CrewAI.

The texts are those of CrewAI's `translations/en.json`, 1.15.6 to 1.15.30. Prompts that are built otherwise (with a
user's `prompt_file` or templates, or by another version) are left as they are.
"""

from __future__ import annotations

_BEGIN = "\nCurrent Task: "
_ENDS = (
    "\n\nProvide your complete response:",
    "\n\nBegin! This is VERY important to you, use the tools available and give your best Final Answer, your job "
    "depends on it!\n\nThought:",
)
_WHOLE = "\nyou MUST return the actual complete content as the final answer, not a summary."
# Before and after the schema of the task's output.
_SCHEMA = (
    "\nFormat your final answer according to the following OpenAPI schema: ",
    "Ensure the final output does not include any code block markers like ```json or ```python.",
)
_AFTER_TOOL = (
    "Analyze the tool result. If requirements are met, provide the Final Answer. Otherwise, call the next tool. "
    "Deliver only the answer without meta-commentary."
)


def plain_prompt(text: str) -> str:
    """What is the user's in a message that CrewAI wrote to an agent: the task, what is expected, the context. "" if
    there is nothing."""
    if text == _AFTER_TOOL:
        return ""
    if not text.startswith(_BEGIN):
        return text
    text = text.removeprefix(_BEGIN)
    for end in _ENDS:
        text = text.removesuffix(end)
    before, found, after = text.partition(_WHOLE)
    if not found:
        return text
    begin, end = _SCHEMA
    if after.startswith(begin) and end in after:
        after = after.partition(end)[2]
    return before + after
