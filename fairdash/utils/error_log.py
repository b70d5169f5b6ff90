"""Log the location of an error without personal data.

The message of an exception often quotes the value that caused it ("could not convert string to float: …"),
and values are personal. The log contains only positions in the code and types of exceptions.
"""

from __future__ import annotations

import traceback


def trace_of(error: BaseException) -> str:
    """Return the exceptions behind `error` and the lines of code they passed, without messages.

    >>> try:
    ...     float("Zoe")
    ... except ValueError as error:
    ...     "ValueError" in trace_of(error), "Zoe" in trace_of(error)
    (True, False)
    """
    parts: list[str] = []
    each: BaseException | None = error
    seen: set[int] = set()
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        places = [
            f"  {place.filename}:{place.lineno} in {place.name}"
            for place in traceback.extract_tb(each.__traceback__)
        ]
        parts.append("\n".join([f"{type(each).__module__}.{type(each).__qualname__}", *places]))
        each = each.__cause__ or each.__context__
    return "\nafter ".join(parts)
