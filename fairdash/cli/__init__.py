"""Command line of fairdash, with the same functions as the pages.

python -m fairdash app
python -m fairdash sweep --dataset crime --objective demographic_parity --lams 0,0.5,1,2 --splits 2 --json
python -m fairdash bench --dataset crime --method hgr_spline,band_ratio --splits 10
python -m fairdash measure hgr_spline prices.csv --u price --v age --exposure years
python -m fairdash check policies.csv --target cost --sensitive age --exposure years
python -m fairdash audit policies.csv --price premium --sensitive age --exposure years --outcome claims
python -m fairdash audit policies.csv --price premium --sensitive age --template colorado --out filing.html
python -m fairdash search --dataset crime --method hgr_nn --grid small
python -m fairdash find-lam --dataset crime --method hgr_nn --target "hgr_spline<=floor+0.05"
python -m fairdash reproduce table1 --dataset crime
python -m fairdash worker --database postgresql://fairdash@db/fairdash
python -m fairdash report 0123456789ab --lam 1 --against hgr_nn:0.5 --out report.html
python -m fairdash runs list

An installed package also offers the shorter form ``fairdash app``. Each command is a function. The library
cyclopts takes the options from its signature and the help texts from its docstring, and imports its module
when the command is used. Options that several commands share, and the function that prints results, are at
the end of this file.
"""

from __future__ import annotations

import codecs
import inspect
import io
import json
import logging
import math
import os
import secrets
import select
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field
from pathlib import Path
from typing import Annotated, Any, TextIO, TypeVar, get_args, get_origin, get_type_hints

from cyclopts import App, CycloptsError, Parameter, Token, UnusedCliTokensError
from cyclopts.validators import Number

from fairdash._version import __version__
from fairdash.errors import FairdashError, OptionError, trace_of
from fairdash.utils.options import options_of
from fairdash.utils.text import few, in_ascii, visible

log = logging.getLogger("fairdash.cli")

#: Exit status of an internal error (EX_SOFTWARE in sysexits.h). No command uses it for a result.
UNEXPECTED = 70
#: Exit status of a program that SIGPIPE ended, which is 128 + 13.
_STATUS_OF_CLOSED_PIPE = 141
#: Exit statuses that every command may have.
_OTHER_STATUSES = f"2 bad input, {UNEXPECTED} unexpected error."

#: Environment variables for the number of threads, which NumPy reads on import. Commands compute many small
#: matrix products. A second thread would save no time and, on a busy machine, cause waiting.
_BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

_AUDIT = f"""Audit an existing price against a sensitive column of its table.

Exit status: 0 below the allowed gap, 1 above it, 3 undecided, {_OTHER_STATUSES}"""
_CHECK = f"""Check a file for columns that give the target away.

Exit status: 0 no column certainly gives the target away, 1 at least one column does, {_OTHER_STATUSES}"""
_PURPOSE = "Explore the trade-off between accuracy and fairness for sensitive numbers and classes."
#: Commands with their functions and help texts. The list of commands shows the first line of each help text.
_VERBS = {
    "app": ("serving:app", "Open the app in a browser."),
    "sweep": ("training:sweep", "Train over a grid of λ and print the trade-off."),
    "measure": ("measuring:measure", "Measure the dependence between two columns of a file."),
    "audit": ("auditing:audit", _AUDIT),
    "rules": ("auditing:rules", "List the rules under which an audit can be filed."),
    "models": ("auditing:models", "Describe a model's file, and list what it does not state."),
    "check": ("measuring:check", _CHECK),
    "bench": ("benching:bench", "Compare methods by their error at equal dependence."),
    "search": ("training:search", "Compare settings of the networks by cross-validation."),
    "find-lam": ("training:find_lam", "Find the weight λ that meets a target."),
    "reproduce": ("serving:reproduce", "Reproduce a table or figure of the paper."),
    "worker": ("serving:worker", "Run the jobs queued by the apps of several machines."),
    "report": ("running:report", "Write the report of a finished run as one HTML file."),
    "runs": ("running:runs", "List, show, resume, delete, export and import runs."),
}


def command_line(name: str = "fairdash", *, boxes: bool = False) -> App:
    """Return the command line with all commands, without loading their modules.

    Parameters
    ----------
    name
        Name of the program in help texts.
    boxes
        True for help texts with frames and colours, for a terminal.
    """
    cli = App(
        name=name,
        help=_PURPOSE,
        version=f"fairdash {__version__}",
        help_format="plaintext",
        help_formatter="default" if boxes else "plain",
        default_parameter=Parameter(
            negative_iterable=(), allow_repeating=True, show_default=_default_in_words
        ),
        result_action="return_value",
    )
    for order, (verb, (function, help_line)) in enumerate(_VERBS.items()):
        cli.command(f"fairdash.cli.{function}", name=verb, help=help_line, sort_key=order)
    if name == "fairdash":  # Shells do not complete words after python -m.
        cli.register_install_completion_command(add_to_startup=False)
    return cli


def help_text(cli: App, verbs: Sequence[str], *, width: int = 80) -> str:
    """Return the help of a command, or of the program, as plain text."""
    from rich.console import Console

    text = io.StringIO()
    cli.help_print(verbs, console=Console(file=text, width=10_000))
    lines = text.getvalue().strip().split("\n")
    return "\n".join(
        textwrap.fill(line, width, subsequent_indent="      " if line.startswith(" ") else "")
        for line in lines
    )


def help_of_all_commands(cli: App, *verbs: str, width: int = 80) -> Iterator[tuple[tuple[str, ...], str]]:
    """Return the help of the program, then of each command and subcommand, with their names."""
    yield verbs, help_text(cli, verbs, width=width)
    group = cli[verbs[0]] if verbs else cli
    for name in group if len(verbs) < 2 else ():
        if not name.startswith("-"):
            yield from help_of_all_commands(cli, *verbs, name, width=width)


def _default_in_words(default: object) -> str | None:
    """Return a default as help text, or None for a flag that is off and for an empty list."""
    return str(default) if default or (default == 0 and default is not False) else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Execute a command and return the exit status.

    The status is 2 if an input or an option is unsuitable, and 70 after an unexpected error, whose location
    is logged. It is 141 if the reader of the output has closed the pipe, as ``head`` does. The signal SIGPIPE
    remains ignored, because it would also end the app when a browser disconnects.
    """
    for name in _BLAS_THREADS:
        os.environ.setdefault(name, "1")
    codecs.register_error("ascii", in_ascii)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # The encoding may not contain λ, for example on Windows.
            stream.reconfigure(errors="ascii")
    try:
        try:
            return _execute(sys.argv[1:] if arguments is None else list(arguments))
        finally:
            # Output is flushed here, because a failed flush at exit would give a warning and status 120.
            print(end="", flush=True)
    except BrokenPipeError as error:
        if sys.platform == "win32":
            return _unexpected(error)  # Windows has neither SIGPIPE nor this status.
        closed_streams = [stream for stream in (sys.stdout, sys.stderr) if _is_closed(stream)]
        if not closed_streams:
            return _unexpected(error)  # The broken pipe belongs to a socket or a child process.
        with open(os.devnull, "wb") as null_device:
            for stream in closed_streams:
                os.dup2(null_device.fileno(), stream.fileno())
        return _STATUS_OF_CLOSED_PIPE
    except Exception as error:
        return _unexpected(error)


def _unexpected(error: Exception) -> int:
    """Log the location of an error without the values in its message, and return the exit status."""
    error_id = secrets.token_hex(4)
    log.error("error %s: %s", error_id, trace_of(error))
    print(f"Unexpected error, logged above as {error_id}. The command has no result.", file=sys.stderr)
    return UNEXPECTED


def _is_closed(stream: TextIO) -> bool:
    """Return whether the stream is a pipe whose reader has closed it."""
    try:
        descriptor = stream.fileno()
    except io.UnsupportedOperation:  # The stream is a string in memory.
        return False
    poll = select.poll()
    poll.register(descriptor, 0)  # A request for no events still reports a closed pipe.
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _execute(words: list[str]) -> int:
    # The program's name is that of the installed command, fairdash (on Windows fairdash.exe), or python -m
    # fairdash.
    name = "fairdash" if Path(sys.argv[0]).stem == "fairdash" else "python -m fairdash"
    cli = command_line(name, boxes=sys.stdout.isatty())
    if words == ["--version"]:
        print(cli.version)
        return 0
    try:
        chain, apps, unparsed = cli.parse_commands(words)
        verbs = [word for word in chain if not word.startswith("-")]
        if set(words).isdisjoint(cli.help_flags):
            if apps[-1].default_command is None:
                raise _no_command(apps[-1], unparsed)
        elif not sys.stdout.isatty():
            print(help_text(cli, verbs))
            return 0
        return cli(words, exit_on_error=False, print_error=False) or 0
    except FairdashError as error:
        message = str(error)
    except UnusedCliTokensError as error:
        message = f"Unexpected argument: {few(error.unused_tokens or ())}."
    except CycloptsError as error:
        message = f"{error} See {' '.join([name, *verbs])} --help."
    print(visible(message), file=sys.stderr)
    return 2


def _no_command(group: App, unparsed: list[str]) -> OptionError:
    problem = f"“{unparsed[0]}” is not a known command" if unparsed else "Give a command"
    names = ", ".join(name for name in group if not name.startswith("-"))
    return OptionError.of(problem, f"Choose one of: {names}.")


def _words(_: object, tokens: Sequence[Token]) -> list[str]:
    return [word.strip() for token in tokens for word in token.value.split(",") if word.strip()]


def _numbers(_: object, tokens: Sequence[Token]) -> list[float]:
    return [_number(word) for word in _words(_, tokens)]


def _share(_: object, tokens: Sequence[Token]) -> float:
    text = tokens[-1].value.strip()
    return _number(text.removesuffix("%")) / 100 if text.endswith("%") else _number(text)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"“{text}” is not a number.") from None


#: Types of options for comma-separated words or numbers, a share such as 5% or 0.05, a repeatable column, and
#: a seed.
Words = Annotated[list[str] | None, Parameter(converter=_words, metavar="WORD,WORD")]
Numbers = Annotated[list[float] | None, Parameter(converter=_numbers, metavar="NUMBER,NUMBER")]
Share = Annotated[float, Parameter(converter=_share, metavar="SHARE")]
Columns = Annotated[tuple[str, ...], Parameter(metavar="COLUMN")]
Seed = Annotated[int, Parameter(validator=Number(gte=0))]
Verb = TypeVar("Verb", bound=Callable[..., Any])
AsJson = Annotated[bool, Parameter(name="--json", negative=(), help="Print all figures as JSON.")]


def with_options(*plans: type, only: Collection[str] = ()) -> Callable[[Verb], Verb]:
    """Add the options of plans (:mod:`fairdash.utils.options`) to a command as keyword parameters."""

    def add(verb: Verb) -> Verb:
        signature, added = inspect.signature(verb), []
        fixed = [item for item in signature.parameters.values() if item.kind is not item.VAR_KEYWORD]
        for plan in plans:
            hints, options = get_type_hints(plan), options_of(plan)
            words = {each.metadata["word"]: name for name, each in options.items()}
            for name, each in options.items():
                # Fields for further values of a repeatable option are not separate options.
                if each.metadata["word"] not in options and name in (only or options):
                    added.append(_parameter(name, each, Columns if name in words else hints[each.name]))
        verb.__annotations__.update({item.name: item.annotation for item in added})
        parameters = sorted((*added, *fixed), key=lambda item: item.kind)
        verb.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return verb

    return add


def _parameter(name: str, option: Field[Any], kind: Any) -> inspect.Parameter:
    """Return an option as a parameter of a command. An option with a list may be repeated."""
    metadata, default = option.metadata, None if option.default is MISSING else option.default
    help_parts = [metadata["label"].removesuffix(" (optional)"), metadata["help"].rstrip(".")]
    help_parts += [f"One of {', '.join(metadata['choices'])}"] if metadata["choices"] else []
    if list_type := next((member for member in (kind, *get_args(kind)) if get_origin(member) is tuple), None):
        kind, default = Columns if list_type == tuple[str, ...] else list_type, ()
        help_parts.append("Repeatable")
    if metadata["unit"]:
        kind = Share
        help_parts.append("For example 5% or 0.05")
    word, text = (metadata["word"] or name).replace("_", "-"), ". ".join(filter(None, help_parts))
    annotation = Annotated[kind, Parameter(name=f"--{word}", help=f"{text}.")]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def print_result(result: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """Print a result as JSON, for programs, or as lines without control characters."""
    if as_json:
        print(json.dumps(_without_nan(result), indent=2, allow_nan=False))
        return
    for line in lines:
        print(visible(line, keep=""))


def _without_nan(value: Any) -> Any:
    """Return a value for JSON, in which null replaces NaN and infinity."""
    if isinstance(value, Mapping):
        return {key: _without_nan(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def rows(frame: Any) -> list[dict[str, Any]]:
    """Return the rows of a frame as dicts of plain values."""
    return list(json.loads(frame.to_json(orient="records", double_precision=15)))
