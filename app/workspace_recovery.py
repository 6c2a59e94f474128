"""`fixwright workspace recover`: back to the tree before a transaction whose process died."""

from __future__ import annotations

from pathlib import Path

from domain.errors import ConfigurationError
from domain.text import one_line
from harness.workspace import TransactionalWorkspace

_SHOWN = 20


def recover(root: Path, *, keep: bool, as_json: bool) -> str:
    """Put a working copy back, or keep it as it is. Raises ConfigurationError, TransactionError."""
    if not root.is_dir():
        raise ConfigurationError(f"--repo: {root} is no directory")
    workspace = TransactionalWorkspace(root)
    if keep:
        found = workspace.discard()
        return f"{root}: kept as it is\n" if found else f"{root}: no transaction is open\n"
    receipt = workspace.recover()
    if as_json:
        return receipt.as_json() if receipt is not None else "null\n"
    if receipt is None:
        return f"{root}: no transaction is open\n"
    lines = [f"{root}: as it was at {receipt.begun_at:%Y-%m-%d %H:%M:%S} UTC"]
    if receipt.put_aside:
        lines.append(f"written since, and kept in {receipt.aside}:")
        lines += [f"  {one_line(path, 200)}" for path in receipt.put_aside[:_SHOWN]]
        if len(receipt.put_aside) > _SHOWN:
            lines.append(f"  and {len(receipt.put_aside) - _SHOWN} more")
    return "\n".join(lines) + "\n"
