"""The App's facts and keys in the data directory: read, and written whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from domain.errors import ConfigurationError, StoreUnavailable
from domain.file_modes import inner_mode, read_only_mode

DIRECTORY = "github-app"
FACTS = "app.json"
PRIVATE_KEY = "private-key.pem"
WEBHOOK_SECRET = "webhook-secret"
CLIENT_SECRET = "client-secret"

MOST_BYTES = 65_536
"""Of one of these files."""

_UNFINISHED = f".{DIRECTORY}-"
_LEFT_BEHIND_SECONDS = 3600.0


class AlreadyConfigured(ConfigurationError):
    """There is an App in the data directory, and nobody asked to replace it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredApp:
    """What is known of the App and is no secret. `api_url` is the GitHub that it belongs to."""

    id: str
    client_id: str
    slug: str
    name: str
    owner: str
    page: str
    api_url: str
    webhook_url: str
    made_at: str


def stored_app(data_dir: Path) -> StoredApp | None:
    """Return the App in the data directory, or None. Raises ConfigurationError where it cannot be used."""
    if not (data_dir / DIRECTORY).is_dir():
        return None
    path = data_dir / DIRECTORY / FACTS
    try:
        found = json.loads(_read(data_dir, FACTS))
        return StoredApp(**{each.name: str(found[each.name]) for each in fields(StoredApp)})
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ConfigurationError(f"{path}: is not what was written there; put {_way_out(data_dir)}") from None


def stored_private_key(data_dir: Path) -> str:
    """Return the App's private key. Raises ConfigurationError."""
    return _read(data_dir, PRIVATE_KEY)


def stored_webhook_secret(data_dir: Path) -> str:
    """Return the secret that GitHub signs deliveries with. Raises ConfigurationError."""
    return _read(data_dir, WEBHOOK_SECRET).strip()


def stored_client_secret(data_dir: Path) -> str:
    """Return the secret with which accounts are logged in. Raises ConfigurationError."""
    return _read(data_dir, CLIENT_SECRET).strip()


def _read(data_dir: Path, name: str) -> str:
    """Return a file's text, if only the service can read it. Raises ConfigurationError."""
    path = data_dir / DIRECTORY / name
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, encoding="utf-8") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > MOST_BYTES:
                raise ConfigurationError(f"{path}: is not a file of at most {MOST_BYTES} bytes")
            if stat.S_IMODE(status.st_mode) & ~read_only_mode(data_dir.stat().st_mode):
                raise ConfigurationError(
                    f"{path}: others may read or write it (mode {stat.S_IMODE(status.st_mode):04o}); "
                    f"chmod 600 {path}, and if somebody may have read it, make new keys on the App's page"
                )
            text = file.read()
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ConfigurationError(f"{path}: cannot be read ({why}); put {_way_out(data_dir)}") from None
    if not text.strip():
        raise ConfigurationError(f"{path}: is empty; put {_way_out(data_dir)}")
    return text


def _way_out(data_dir: Path) -> str:
    return f"{data_dir / DIRECTORY} back from a copy, or make the App anew: fixwright app create --replace"


class Room:
    """A place for an App's files, held before the keys exist: a full disk is found out while nothing is lost.

    As a context: what was not kept is gone at its end.
    """

    def __init__(self, data_dir: Path, *, replace: bool = False) -> None:
        """Hold the place.

        Raises:
            AlreadyConfigured: there is an App, and it is not to be replaced.
            StoreUnavailable: nothing can be written there now.
        """
        self._final = data_dir / DIRECTORY
        self._replace = replace
        refuse_second(data_dir, replace=replace)
        try:
            data_dir.mkdir(mode=0o711, parents=True, exist_ok=True)
            _clear_left_behind(data_dir)
            self._owner = _owner_of(data_dir)
            self._unfinished = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=data_dir))
            self._unfinished.chmod(inner_mode(data_dir.stat().st_mode))
        except OSError as error:
            raise _unwritable(data_dir, error) from None
        try:
            for name in (FACTS, PRIVATE_KEY, WEBHOOK_SECRET, CLIENT_SECRET):
                self._write(name, "\n" * 8192)
        except OSError as error:
            self._discard()
            raise _unwritable(data_dir, error) from None

    def __enter__(self) -> Room:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._discard()

    def keep(self, app: StoredApp, secrets: Mapping[str, str]) -> str:
        """Write the facts and the secrets, by their file's name, and put them in place in one step.

        Returns where an App that was there before is now, "" if none was. Raises AlreadyConfigured,
        StoreUnavailable; nothing is in place then.
        """
        try:
            for name, text in secrets.items():
                self._write(name, text.strip() + "\n")
            self._write(FACTS, json.dumps(asdict(app), indent=2) + "\n")
            _sync_directory(self._unfinished)
            if self._owner is not None:
                os.chown(self._unfinished, *self._owner)
            return self._put_in_place()
        except OSError as error:
            raise _unwritable(self._final.parent, error) from None

    def _put_in_place(self) -> str:
        aside = self._put_aside() if self._replace else None
        try:
            self._take_place()
        except BaseException:
            if aside is not None and not self._final.exists():
                aside.rename(self._final)
            raise
        return str(aside or "")

    def _take_place(self) -> None:
        refuse_second(self._final.parent, replace=False)
        try:
            self._unfinished.rename(self._final)
        except OSError as error:
            if self._final.exists():  # another one was faster
                raise _already(self._final) from error
            raise
        _sync_directory(self._final.parent)

    def _put_aside(self) -> Path | None:
        if not self._final.exists():
            return None
        aside = self._final.with_name(f"{DIRECTORY}.before-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}")
        self._final.rename(aside)
        return aside

    def _write(self, name: str, text: str) -> None:
        """Write a file through to the disk, over what holds its place; only the service may read it."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(self._unfinished / name, flags, 0o600), "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), self._mode_of(name))
            if self._owner is not None:
                os.fchown(file.fileno(), *self._owner)
            file.write(text)
            file.flush()
            file.truncate()
            os.fsync(file.fileno())

    def _mode_of(self, name: str) -> int:
        """Return who may read a file: of two users that share the directory, the worker alone reads the key.

        Where it is the web process that writes it, the worker reads it by the group.
        """
        directory = self._final.parent.stat()
        is_workers = os.geteuid() in (0, directory.st_uid)
        return 0o600 if name == PRIVATE_KEY and is_workers else read_only_mode(directory.st_mode)

    def _discard(self) -> None:
        shutil.rmtree(self._unfinished, ignore_errors=True)


def refuse_second(data_dir: Path, *, replace: bool) -> None:
    """Raise AlreadyConfigured where there is an App that is not to be replaced."""
    if not replace and os.path.lexists(data_dir / DIRECTORY):
        raise _already(data_dir / DIRECTORY)


def _already(directory: Path) -> AlreadyConfigured:
    return AlreadyConfigured(
        f"an App is configured already, in {directory}; fixwright app create --replace makes another one and "
        "puts that aside"
    )


def _owner_of(data_dir: Path) -> tuple[int, int] | None:
    """Return whose the files have to be where root makes them for a service that is not root."""
    status = data_dir.stat()
    return (status.st_uid, status.st_gid) if os.geteuid() == 0 and status.st_uid != 0 else None


def _clear_left_behind(data_dir: Path) -> None:
    """Remove what a process that was killed did not finish."""
    for path in data_dir.glob(_UNFINISHED + "*"):
        if time.time() - path.lstat().st_mtime > _LEFT_BEHIND_SECONDS:
            shutil.rmtree(path, ignore_errors=True)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unwritable(data_dir: Path, error: OSError) -> StoreUnavailable:
    return StoreUnavailable(f"the App's keys cannot be stored in {data_dir} ({error.strerror or error})")
