"""Public names and command help as text, which ``python -m tests.golden.texts`` writes to files."""

import dataclasses
import inspect
from pathlib import Path

import fairdash as fd
from fairdash.cli import command_line, help_of_all_commands

HERE = Path(__file__).parent


def public_names() -> str:
    """One line per public name: the parameters of a function, the fields and methods of a class."""
    lines = []
    for name in fd.__all__:
        value = getattr(fd, name)
        if inspect.isclass(value):
            fields = [f.name for f in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []
            own = [each for each in dir(value) if not each.startswith("_") and each not in fields]
            lines += [
                f"class {name}: {each}" for each in (*fields, *own, *inspect.signature(value).parameters)
            ]
        elif callable(value):
            parameters = inspect.signature(value).parameters.values()
            lines += [f"{name}({str(each).partition(':')[0]})" for each in parameters]
        elif inspect.ismodule(value):
            own = [
                each
                for each in vars(value).values()
                if inspect.isfunction(each) and each.__module__ == value.__name__
            ]
            lines += [f"{name}.{each.__name__}" for each in own if not each.__name__.startswith("_")]
        else:
            lines.append(name)
    return "\n".join(dict.fromkeys(lines)) + "\n"


def help_of_every_command() -> str:
    """The ``--help`` texts without line breaks, which depend on the terminal."""
    return "\n\n".join(" ".join(text.split()) for _, text in help_of_all_commands(command_line())) + "\n"


if __name__ == "__main__":
    (HERE / "names.txt").write_text(public_names(), encoding="utf-8")
    (HERE / "help.txt").write_text(help_of_every_command(), encoding="utf-8")
