"""Which package clients and interpreters commands find in the sandbox, and of which versions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

PROGRAMS: Mapping[str, tuple[str, ...]] = {
    "python": ("python3", "pip", "uv"),
    "node": ("node", "npm", "pnpm", "yarn"),
    "go": ("go",),
    "rust": ("cargo", "rustc"),
    "ruby": ("ruby", "bundle"),
    "java": ("java", "mvn", "gradle"),
}
_FLAGS = {"go": "version", "java": "-version"}
_SECONDS = 20


def version_script(programs: Iterable[str]) -> str:
    """Return shell lines that print `name=first line of its version` for each program, or `name=`."""
    return "\n".join(
        f"printf '\\n%s=' {program}; command -v {program} >/dev/null && "
        f"timeout {_SECONDS} {program} {_FLAGS.get(program, '--version')} 2>&1 </dev/null | head -n 1"
        for program in programs
    )


def read_versions(output: str, programs: Iterable[str]) -> dict[str, str]:
    """Return what the script printed; "" means that there is no such program."""
    lines = (line.partition("=") for line in output.splitlines())
    said = {name: value.strip() for name, _, value in lines}
    return {program: said.get(program, "") for program in programs}
