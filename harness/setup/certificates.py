"""The certificates that a set-up's package clients trust: this machine's own, or what its operator names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from domain.ports import Shown

_SYSTEM = (Path("/etc/ssl/certs/ca-certificates.crt"), Path("/etc/ssl/certs/ca-bundle.crt"))
_GUEST = "/opt/fixwright/certificates.pem"
_NAMES = (
    *("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
    *("CARGO_HTTP_CAINFO", "GIT_SSL_CAINFO"),
)


def certificates(variables: Mapping[str, str]) -> Path | None:
    """Return the file that the operator's SSL_CERT_FILE or REQUESTS_CA_BUNDLE names, or the system's own."""
    named = [variables[name] for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE") if variables.get(name)]
    return next((path for path in (*map(Path, named), *_SYSTEM) if path.is_file()), None)


def certificate_variables(file: Path | None) -> dict[str, str]:
    """Return the variables that name the file, as each client spells them."""
    return dict.fromkeys(_NAMES, _GUEST) if file is not None else {}


def certificate_shown(file: Path | None) -> tuple[Shown, ...]:
    """Return what has to be shown for the file to be seen: a container's image has others, or none."""
    return (Shown(source=file.resolve(), target=_GUEST),) if file is not None else ()
