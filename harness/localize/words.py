"""Words of text and code: identifiers whole and in their parts, without what every text has."""

from __future__ import annotations

import functools
import re

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|\d{3,}")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_STOP = frozenset(
    """
    a about above after again all also always am an and any are as at be because been before being below
    between both but by can cannot could did do does doing down during each either else ever few for
    from further get gets getting give given go going got had has have having he her here hers him his
    how however i if in into is it its itself just let like ll made make makes me more most much must my
    myself no nor not now of off on once only or other our ours out over own per please same see seems
    she should so some still such than that the their them then there these they this those through thus
    to too under until up upon us use used using ve very was we were what when where whether which while
    who whom why will with within without would yes yet you your self cls def return import none true
    false print issue bug expected actual behavior behaviour description example following code version
    problem work works working instead want way think need needs try tried trying e g ie eg etc https
    http www com org html
    """.split()  # noqa: SIM905 - a table of words reads best so
)


MEMORY = 2**16
"""Words whose parts are remembered; a repository has about so many."""


@functools.lru_cache(maxsize=MEMORY)
def parts_of(word: str) -> tuple[str, ...]:
    """Return an identifier in lower case, and its parts where it has several: snake_case and camelCase."""
    whole = word.lower().strip("_")
    parts = [part.lower() for part in _PART.findall(word)]
    if len(parts) < 2:
        return (stem(whole),) if len(whole) > 1 else ()
    return tuple(dict.fromkeys((whole, *(stem(part) for part in parts if len(part) > 1))))


@functools.lru_cache(maxsize=MEMORY)
def name_parts(name: str) -> tuple[str, ...]:
    """Return the stems that a name is made of, each once, without the name as a whole."""
    stems = (stem(part.lower()) for part in _PART.findall(name))
    return tuple(dict.fromkeys(part for part in stems if len(part) > 1))


def stem(word: str) -> str:
    """Return a word without its plural s or common verb endings; short words stay as they are."""
    if len(word) > 5 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if len(word) > len(ending) + 3 and word.endswith(ending):
            return word[: -len(ending)].rstrip("e")
    return word.rstrip("e") if len(word) > 4 else word


def is_common(word: str) -> bool:
    """Tell whether a word is too common to say where something is."""
    return word in _STOP or len(word) < 2


def looks_like_code(word: str) -> bool:
    """Tell whether a word of prose is an identifier: snake_case, camelCase, or with digits inside."""
    inner = word.strip("_")
    return len(inner) > 2 and ("_" in inner or bool(re.search(r"[a-z][A-Z]|[A-Z]{2}[a-z]|[a-zA-Z]\d", inner)))
