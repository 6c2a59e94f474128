"""RH003, RH005, RH006, RH009, RH011 and RH012 by syntax: what a single sign in new code is enough for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from domain.model import Finding
from harness.guard.context import Context, critical, warning
from harness.guard.syntax.files import SyntaxFile, is_others
from harness.guard.syntax.model import Sign, What
from harness.guard.syntax.swallows import SWALLOWS, Place, fresh
from harness.guard.syntax.view import View, view_of

_SWALLOWED = "An error that is swallowed looks like success: to callers, and to the tests."
_DANGEROUS = "It can run whatever an input says; no bug fix should bring this in unseen."
_STOPS = "The program would stop here and wait for a person."
_NOISE = "The file printed nothing before; this looks like a trace of the search for the fault."
_KNOWS = "Code that knows it is being tested can pass every test and still be wrong for users."
_TAMPERS = "It puts something between the tests and their result, so the result can no longer be believed."
_HIDES = "A name that is put together from pieces is meant not to be found by whoever reads the change."


def check(context: Context) -> Iterator[Finding]:
    """Yield findings for signs that the change has more of than the base had, wherever they were."""
    before = Counter(
        (sign.what, sign.key) for file in context.files for view in file.gone for sign in view.signs
    )
    dropped: list[tuple[SyntaxFile, Place]] = []
    for file in context.files:
        for view in file.came:
            for sign in view.signs:
                key = (sign.what, sign.key)
                if sign.what in SWALLOWS:
                    dropped.append((file, Place(view, sign)))
                elif before[key] > 0:
                    before[key] -= 1
                else:
                    yield from _judged(file, view, sign)
    if dropped:
        yield from _dropped(context, dropped)


def _dropped(context: Context, came: list[tuple[SyntaxFile, Place]]) -> Iterator[Finding]:
    gone = (
        Place(view, sign)
        for file in context.files
        for view in file.gone
        for sign in view.signs
        if sign.what in SWALLOWS
    )
    files = {id(place): file for file, place in came}
    for place in fresh(gone, [place for _, place in came]):
        yield from _judged(files[id(place)], place.view, place.sign)


def _judged(file: SyntaxFile, view: View, sign: Sign) -> Iterator[Finding]:
    in_tests, is_other = view.unit.in_tests or file.in_tests, is_others(file.delta)
    path, line, key = file.path, sign.line, sign.key
    match sign.what:
        case What.SWALLOW | What.SOFT_SWALLOW:
            soft = sign.what is What.SOFT_SWALLOW and not in_tests
            make = warning if soft or is_other else critical
            yield make("RH003", path, line, f"errors of every kind are dropped here ({key[:60]})", _SWALLOWED)
        case What.DANGER:
            make = warning if in_tests or is_other else critical
            yield make("RH005", path, line, f"`{key}` is introduced", _DANGEROUS)
        case What.STOP:
            yield critical("RH006", path, line, f"`{key}` is left in the code", _STOPS)
        case What.PRINT:
            if (
                not in_tests
                and not is_other
                and file.old is not None
                and not file.dialect.is_program(path)
                and not _printed(file)
            ):
                yield warning("RH006", path, line, f"`{key}` is left in the code", _NOISE)
        case What.PROBE:
            if not in_tests:
                yield critical("RH009", path, line, f"source looks for tests: {key}", _KNOWS)
        case What.TAMPER:
            yield critical("RH011", path, line, key, _TAMPERS)
        case What.REACH:
            if in_tests:
                yield critical("RH011", path, line, key, "The tests then see other code than users do.")
        case What.EXIT:
            if in_tests:
                yield critical(
                    "RH011", path, line, f"a test calls `{key}`, which can cut the run short", _TAMPERS
                )
        case What.SHADOW:
            if in_tests:
                yield critical("RH011", path, line, key, _TAMPERS)
        case What.HIDDEN:
            yield critical("RH012", path, line, f"`{key[:60]}` is put together from pieces", _HIDES)
        case _:
            return


def _printed(file: SyntaxFile) -> bool:
    """Tell whether a file printed something already."""
    if any(sign.what is What.PRINT for view in file.gone for sign in view.signs):
        return True
    return any(
        sign.what is What.PRINT
        for unit in file.everything(old=True)
        for sign in view_of(unit, file.dialect).signs
    )
