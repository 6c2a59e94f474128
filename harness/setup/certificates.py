"""The certificates that a set-up's package clients trust: this machine's own, or what its operator names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from domain.ports import Shown

_SYSTEM = (Path("/etc/ssl/certs/ca-certificates.crt"), Path("/etc/ssl/certs/ca-bundle.crt"))
_SHOWN_ANYWAY = (Path("/etc/ssl/certs"), Path("/usr"))
_GUEST = "/opt/fixwright/certificates.pem"
_NAMES = (
    *("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
    *("CARGO_HTTP_CAINFO", "GIT_SSL_CAINFO", "npm_config_cafile"),
)


def certificates(variables: Mapping[str, str]) -> Path | None:
    """Return the file that the operator's SSL_CERT_FILE or REQUESTS_CA_BUNDLE names, or the system's own."""
    named = [variables[name] for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE") if variables.get(name)]
    return next((path for path in (*map(Path, named), *_SYSTEM) if path.is_file()), None)


def certificate_variables(file: Path | None) -> dict[str, str]:
    """Return the variables that name the file, as each client spells them."""
    return dict.fromkeys(_NAMES, _guest(file)) if file is not None else {}


def certificate_shown(file: Path | None) -> tuple[Shown, ...]:
    """Return what has to be shown for the file to be seen."""
    if file is None or _guest(file) != _GUEST:
        return ()
    return (Shown(source=file.resolve(), target=_GUEST),)


def _guest(file: Path) -> str:
    return str(file) if any(file.resolve().is_relative_to(place) for place in _SHOWN_ANYWAY) else _GUEST
