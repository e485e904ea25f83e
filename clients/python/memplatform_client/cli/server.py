"""The commands of the platform itself: listed where its package is installed; the client needs none of it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import click

from memplatform_client.cli.terminal import WrongUsage, _

_PACKAGE = "memplatform"
#: Each command with its help, and the words of the platform's own command line that stand for it.
COMMANDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "up": (_("Start a platform on this machine. Ctrl-C stops it."), ("up",)),
    "backup": (_("Back up the platform on this machine, into a new folder."), ("backup",)),
    "manage": (_("Run another command of the platform on this machine."), ()),
}


def add_to(group: click.Group) -> None:
    """Give a group these commands, out of sight where they cannot run."""
    is_there = find_spec(_PACKAGE) is not None
    for name, (text, words) in COMMANDS.items():
        arguments = click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)
        command = click.Command(
            name,
            callback=lambda arguments, words=words: run([*words, *arguments]),
            params=[arguments],
            help=text,
            hidden=not is_there,
            add_help_option=False,  # the platform has its own
            context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
        )
        group.add_command(command)


def run(words: list[str]) -> None:
    """Hand this process over to the platform's command line. Raises WrongUsage where it is not installed."""
    if find_spec(_PACKAGE) is None:
        raise WrongUsage(_("The platform itself is not installed here: pip install memplatform"))
    name = import_module("memplatform.environment").MANAGE
    import_module("memplatform.processes.command_line").main([name, *words])
