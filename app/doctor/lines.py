"""Makes the lines of a check-up, and keeps one failed look from ending it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from domain.errors import FixwrightError
from domain.ports import Examination, Standing

Lines = Iterator[Examination]
Look = Callable[[], Lines]


def ok(subject: str, words: str) -> Examination:
    """Return a line about what is as it should be."""
    return Examination(subject=subject, standing=Standing.OK, words=words)


def warn(subject: str, words: str, fix: str) -> Examination:
    """Return a line about what is odd, or could not be looked at."""
    return Examination(subject=subject, standing=Standing.WARN, words=words, fix=fix)


def fail(subject: str, words: str, fix: str) -> Examination:
    """Return a line about what does not work."""
    return Examination(subject=subject, standing=Standing.FAIL, words=words, fix=fix)


def looked(subject: str, look: Look, fix: str) -> Lines:
    """Yield what a look finds; what it cannot see is a failed line with this way out."""
    try:
        yield from look()
    except FixwrightError as error:
        yield fail(subject, str(error), fix)
    except OSError as error:
        yield fail(subject, error.strerror or type(error).__name__, fix)
    except Exception as error:  # noqa: BLE001  # told in the line; the rest is still looked at
        yield fail(subject, broken(error), fix)


def broken(error: Exception) -> str:
    """Say that code failed in a way that it never should, so that its writer knows."""
    return f"a fault in the program: {type(error).__name__}: {error}"
