"""Looks at the model: price, key, endpoint. It makes no call: the ledger books calls of tasks only."""

from __future__ import annotations

import httpx

from app.doctor.lines import Lines, fail, ok, warn
from app.setting_groups import WorkerSettings
from app.settings import PROVIDER_KEYS, provider_keys
from domain.errors import ConfigurationError, Unpriced
from domain.model import Money
from domain.pricing import PER_MILLION
from harness.prices import PriceList

SECONDS = 10.0
_KEYLESS = frozenset({"ollama", "ollama_chat"})


def model(settings: WorkerSettings) -> Lines:
    """Look at the model that is set."""
    if not settings.model:
        yield fail("model", "FIXWRIGHT_MODEL is not set", "FIXWRIGHT_MODEL=anthropic/claude-sonnet-4-5")
        return
    yield from _price(settings)
    yield from _key(settings)
    if settings.api_base:
        yield from endpoint(settings)


def _price(settings: WorkerSettings) -> Lines:
    subject = "model price"
    try:
        price = PriceList(settings.model_prices, estimate=settings.estimate_price)(settings.model)
    except Unpriced:
        words = f"no price is known for {settings.model}; it is never called"
        yield fail(subject, words, "FIXWRIGHT_MODEL_PRICES, as docs/reference/settings.md shows")
        return
    except ConfigurationError as error:
        yield fail(subject, str(error), "install the service again")
        return
    into, out = (_dollars(each * PER_MILLION) for each in (price.input, price.output))
    words = f"{settings.model}: {into} in, {out} out, per million tokens ({price.source})"
    if price.free:
        yield ok(subject, f"{settings.model} is free, as you say")
    elif price.estimated:
        yield warn(
            subject, f"{words}: an estimate", "FIXWRIGHT_MODEL_PRICES, with the provider's own figures"
        )
    else:
        yield ok(subject, words)


def _dollars(amount: Money) -> str:
    """Write a price: two decimals, and more where it has more."""
    in_cents = amount.quantize(Money("0.01"))
    return f"${in_cents:f}" if amount == in_cents else f"${amount.normalize():f}"


def missing_key(settings: WorkerSettings) -> str:
    """Return the name of the key that the model's provider is known to need where none is set, else ""."""
    _, wanted = _wanted(settings)
    is_set = settings.api_key.get_secret_value() or settings.api_base or wanted in provider_keys()
    return wanted if wanted in PROVIDER_KEYS and not is_set else ""


def _wanted(settings: WorkerSettings) -> tuple[str, str]:
    """Return the provider by its name in the model's, and the variable that its key would have."""
    provider = settings.model.partition("/")[0] if "/" in settings.model else "its provider"
    return provider, f"{provider.upper().replace('-', '_')}_API_KEY"


def _key(settings: WorkerSettings) -> Lines:
    subject = "model key"
    provider, wanted = _wanted(settings)
    if settings.api_key.get_secret_value():
        yield ok(subject, "FIXWRIGHT_API_KEY is set")
    elif wanted in provider_keys():
        yield ok(subject, f"{wanted} is set")
    elif provider in _KEYLESS:
        yield ok(subject, f"{provider} needs none")
    elif wanted in PROVIDER_KEYS:
        yield fail(subject, f"neither {wanted} nor FIXWRIGHT_API_KEY is set", f"{wanted}=…, for the worker")
    elif found := sorted(provider_keys()):
        yield ok(subject, f"{', '.join(found)}; which one {provider} wants is not known here")
    else:
        words = f"no key is set; which one {provider} wants is not known here"
        yield warn(subject, words, "FIXWRIGHT_API_KEY=…, or the provider's own variable, for the worker")


def endpoint(settings: WorkerSettings) -> Lines:
    """Ask the endpoint for its list of models, which costs nothing."""
    subject, address = "model endpoint", settings.api_base.rstrip("/")
    key = settings.api_key.get_secret_value()
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        with httpx.stream("GET", f"{address}/models", headers=headers, timeout=SECONDS) as answer:
            status = answer.status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        yield fail(subject, f"{address} does not answer ({type(error).__name__})", "check FIXWRIGHT_API_BASE")
        return
    if status in {401, 403}:
        yield fail(subject, f"{address} does not take the key ({status})", "check FIXWRIGHT_API_KEY")
    elif status >= 500:
        yield fail(subject, f"{address} is in trouble ({status})", "look there")
    elif status >= 300:
        yield warn(subject, f"{address} answers, but has no list of models ({status})", "check the address")
    else:
        yield ok(subject, f"{address} answers")
