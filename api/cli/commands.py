"""Commands: each is imported when it is asked for, so that a list of jobs does not wait for the worker's imports."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Any

import typer
from typer.core import TyperGroup

from batonpass.contracts.errors import BatonpassError, JobError
from batonpass.contracts.plugged import not_loaded, plugged

from .failure import failure
from .printing import AS_JSON, drop_output, print_json, say

_OURS = {
    "worker": "worker:worker",
    "submit": "jobs:submit",
    "jobs": "jobs:jobs",
    "show": "jobs:show",
    "inbox": "inbox:inbox",
    "answer": "inbox:answer",
    "cancel": "jobs:cancel",
    "run-now": "jobs:run_now",
    "dead-letters": "dead:dead_letters",
    "redrive": "dead:redrive",
    "threads": "history:threads",
    "timeline": "history:timeline",
    "events": "history:events",
    "stream": "stream:stream",
    "restore": "travel:restore",
    "diff": "travel:diff",
    "fork": "travel:fork",
    "rollback": "travel:rollback",
    "name": "travel:name",
    "copy": "travel:copy",
    "prune": "retention:prune",
    "delete": "retention:delete",
    "delete-namespace": "delete_namespace:delete_namespace",
    "serve": "serve:serve",
    "agents": "agents:agents",
    "workers": "workers:workers",
    "pause": "pause:pause",
    "resume": "pause:resume",
    "doctor": "doctor:doctor",
    "check": "check:check",
    "keys": "keys:keys",
    "export": "bundle:export",
    "import": "bundle:import_",
    "backup": "backup:backup",
    "move": "move:move",
    "repartition": "repartition:repartition",
    "import-langgraph": "import_langgraph:import_langgraph",
    "schedule": "schedule:app",
    "webhooks": "webhooks:app",
    "groups": "groups:app",
}
GROUP = "batonpass.commands"
"""The entry points by which other packages add commands."""


class Commands(TyperGroup):
    """Our commands, and those of other packages, which are only looked at for help, or for a name that is not ours."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._said = set[str]()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # some versions of typer bring their own click
        if cmd_name in _OURS:
            self._add(EntryPoint(cmd_name, f"batonpass.cli.{_OURS[cmd_name]}", GROUP))
        elif cmd_name not in self.commands:
            self.list_commands(ctx)
        return self.commands.get(cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        for name in _OURS:
            self.get_command(ctx, name)
        for point in plugged(GROUP):
            try:
                self._add(point)
            except (Exception, SystemExit) as error:  # another package's trouble must not take our commands away
                said = f"batonpass: the command {not_loaded(point, error)}"
                if said not in self._said:  # click asks for the list several times
                    say(said, err=True)
                self._said.add(said)
        return list(self.commands)

    def invoke(self, ctx: Any) -> Any:
        """Whoever reads the output may have enough, as `head` does. Code 1 would say that a job failed."""
        try:
            return self._told(ctx)
        except BrokenPipeError:
            drop_output()
            raise typer.Exit(141) from None

    def _told(self, ctx: Any) -> Any:
        """With --json, programs are told about an error as JSON. (If it is about a job's end, they got the job.)"""
        try:
            return super().invoke(ctx)
        except BatonpassError as error:
            if ctx.meta.get(AS_JSON) and not isinstance(error, JobError):
                print_json(failure(error), indent=None)  # in a line, because lines may come before it
            raise

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Options that all commands take may also stand before the command's name. The command gets them."""
        name, command, rest = super().resolve_command(ctx, args)
        before: list[str] = []
        for option, value in (("--store", ctx.params["store"]), ("--namespace", ctx.params["namespace"])):
            before += [] if value is None else [option, value]
        before += ["--json"] if ctx.params["as_json"] else []
        at = 1 if isinstance(command, TyperGroup) else 0
        return name, command, [*rest[:at], *before, *rest[at:]]

    def _add(self, point: EntryPoint) -> None:
        if point.name not in self.commands:
            self.add_command(_made(point.name, point.load()), point.name)


def _made(name: str, target: Callable[..., None] | typer.Typer) -> Any:
    if isinstance(target, typer.Typer):
        group: Any = typer.main.get_command(target)
        for command in group.commands.values():
            command.short_help = _summary(command.help)
        return group
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name=name, short_help=_summary(target.__doc__))(target)
    return typer.main.get_command(single)


def _summary(told: str | None) -> str:
    """The first sentence of a command's help, in full. (Click would cut it at the end of the line.)"""
    paragraph = " ".join((told or "").split("\n\n")[0].split())
    return paragraph.partition(". ")[0].removesuffix(".")
