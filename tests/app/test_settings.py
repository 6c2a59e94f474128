"""Settings: typed when right, and when wrong one line that names setting, problem and a right example."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path

import pytest

from app.settings import (
    GROUPS,
    CommonSettings,
    load_web_settings,
    load_worker_settings,
    provider_keys,
    secret_values,
    variable,
)
from app.settings_page import settings_page
from domain.errors import ConfigurationError
from domain.model import Category

SECRET = "0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.upper().startswith("FIXWRIGHT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("FIXWRIGHT_WEBHOOK_SECRET", SECRET)


def problem(monkeypatch: pytest.MonkeyPatch, name: str, value: str, *, worker: bool = False) -> str:
    """Load with one setting changed, and return the text of the refusal."""
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError) as caught:
        load_worker_settings() if worker else load_web_settings()
    return str(caught.value)


def test_the_defaults_are_safe() -> None:
    settings = load_web_settings()
    assert (settings.host, settings.port) == ("127.0.0.1", 8400)
    assert settings.data_dir == Path("data").absolute()
    assert settings.repositories == frozenset()
    assert settings.labels == {"bug": Category.BUG, "docs": Category.DOCS, "chore": Category.CHORE}
    assert settings.console_token.get_secret_value() == ""
    assert settings.max_body_bytes == 2**20
    assert settings.webhook_secrets == (SECRET.encode(),)
    assert not settings.serving({}).serves("local", "acme/shop")


def test_the_worker_needs_no_webhook_secret_and_the_web_process_no_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("FIXWRIGHT_WEBHOOK_SECRET")
    worker = load_worker_settings()
    assert worker.caps.max_cost_per_task_usd == Decimal("1.00")
    assert worker.caps.max_daily_cost_usd == Decimal("5.00")
    assert worker.caps.max_daily_cost_total_usd == Decimal("20.00")
    assert worker.caps.max_task_total_usd == Decimal("2.00")
    assert (worker.caps.max_iterations, worker.caps.max_minutes, worker.caps.max_attempts) == (40, 30, 2)
    assert (worker.cost_tracking, worker.model_prices, worker.estimate_price) == ("strict", {}, None)
    assert "model" not in type(load_web_settings_with(monkeypatch)).model_fields


def load_web_settings_with(monkeypatch: pytest.MonkeyPatch, **values: str) -> CommonSettings:
    monkeypatch.setenv("FIXWRIGHT_WEBHOOK_SECRET", SECRET)
    for name, value in values.items():
        monkeypatch.setenv(f"FIXWRIGHT_{name}", value)
    return load_web_settings()


def test_f108_a_missing_secret_is_one_line_with_an_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FIXWRIGHT_WEBHOOK_SECRET")
    monkeypatch.setenv("FIXWRIGHT_REPOSITORIES", "local:acme/shop")
    with pytest.raises(ConfigurationError) as caught:
        load_web_settings()
    assert str(caught.value) == (
        "FIXWRIGHT_WEBHOOK_SECRET: is not set; for example FIXWRIGHT_WEBHOOK_SECRET=$(openssl rand -hex 32)"
    )


@pytest.mark.parametrize("value", ["", " ", "\t", ",", "short", f"{SECRET},short", "é" * 32, f"{SECRET}\x00"])
def test_f108_an_empty_short_or_odd_secret_is_refused_and_never_shown(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    if "\x00" in value:
        pytest.skip("the environment cannot hold it")
    text = problem(monkeypatch, "FIXWRIGHT_WEBHOOK_SECRET", value)
    assert text.startswith("FIXWRIGHT_WEBHOOK_SECRET: ")
    assert len(text.splitlines()) == 1
    assert "short" not in text
    assert SECRET not in text


def test_several_secrets_for_a_rotation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIXWRIGHT_WEBHOOK_SECRET", f"{SECRET}, {SECRET[::-1]}  {'z' * 40}")
    assert len(load_web_settings().webhook_secrets) == 3


def test_a_short_console_token_is_refused_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "hunter2" not in problem(monkeypatch, "FIXWRIGHT_CONSOLE_TOKEN", "hunter2")


MONEY = ["MAX_COST_PER_TASK_USD", "MAX_DAILY_COST_USD", "MAX_DAILY_COST_TOTAL_USD"]


@pytest.mark.parametrize("setting", MONEY)
@pytest.mark.parametrize("value", ["unlimited", "None", "inf", "-Infinity", "-1", "off", "∞"])
def test_a_budget_without_limit_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, setting: str, value: str
) -> None:
    text = problem(monkeypatch, f"FIXWRIGHT_{setting}", value, worker=True)
    assert text.startswith(
        f"FIXWRIGHT_{setting}: a budget of money is never unlimited, but it is {value!a}; "
    )
    assert "0 means that nothing may be spent" in text
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize("setting", MONEY)
@pytest.mark.parametrize(
    "value", ["-1", "-0.01", "nan", "inf", "-inf", "1e309", "", " ", "0.5 USD", "$1", "1,5"]
)
def test_money_is_a_plain_amount(monkeypatch: pytest.MonkeyPatch, setting: str, value: str) -> None:
    text = problem(monkeypatch, f"FIXWRIGHT_{setting}", value, worker=True)
    assert text.startswith(f"FIXWRIGHT_{setting}: ")
    assert f"for example FIXWRIGHT_{setting}=" in text
    assert len(text.splitlines()) == 1


def test_zero_dollars_mean_that_nothing_may_be_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIXWRIGHT_MAX_COST_PER_TASK_USD", "0")
    monkeypatch.setenv("FIXWRIGHT_MAX_DAILY_COST_TOTAL_USD", "0")
    monkeypatch.setenv("FIXWRIGHT_MAX_ITERATIONS", "0")
    caps = load_worker_settings().caps
    assert (caps.max_cost_per_task_usd, caps.max_iterations) == (Decimal(0), 0)
    assert (caps.max_task_total_usd, caps.max_daily_cost_total_usd) == (Decimal(0), Decimal(0))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "99999"),
        ("PORT", "eighty\nfour"),
        ("PORT", ""),
        ("HOST", " "),
        ("DATA_DIR", ""),
        ("LABELS", "feature"),
        ("LABELS", ","),
        ("REPOSITORIES", "acme/shop"),
        ("REPOSITORIES", "local:shop"),
        ("REPOSITORIES", "local:acme/shop;github:acme/web"),
        ("LOG_FORMAT", "xml"),
        ("MAX_BODY_BYTES", "0"),
    ],
)
def test_other_wrong_values(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    text = problem(monkeypatch, f"FIXWRIGHT_{name}", value)
    assert text.startswith(f"FIXWRIGHT_{name}: ")
    assert f"; for example FIXWRIGHT_{name}=" in text
    assert len(text.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SANDBOX_BACKEND", "none"),
        ("SANDBOX_UID", "0"),
        ("SANDBOX_TOOLS", "/absent"),
        ("SANDBOX_TOOLS", "relative"),
        ("API_BASE", "localhost:11434"),
        ("API_BASE", "http://user:password@host/v1"),
        ("WORKER_NAME", "a/b"),
        ("MAX_ATTEMPTS", "0"),
        ("COST_TRACKING", "ignore_errors"),
        ("ESTIMATE_PRICE", "20"),
        ("ESTIMATE_PRICE", '{"free": true}'),
    ],
)
def test_other_wrong_values_of_the_worker(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    text = problem(monkeypatch, f"FIXWRIGHT_{name}", value, worker=True)
    assert text.startswith(f"FIXWRIGHT_{name}: ")
    assert "password" not in text


def test_every_problem_has_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIXWRIGHT_PORT", "x")
    monkeypatch.setenv("FIXWRIGHT_PROT", "8400")
    text = problem(monkeypatch, "FIXWRIGHT_HOST", "")
    assert [line.partition(":")[0] for line in text.splitlines()] == [
        "FIXWRIGHT_PROT",
        "FIXWRIGHT_HOST",
        "FIXWRIGHT_PORT",
    ]


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("FIXWRIGHT_MAX_COST_PER_TASK", "FIXWRIGHT_MAX_COST_PER_TASK_USD"),
        ("FIXWRIGHT_port", "FIXWRIGHT_PORT"),
        ("fixwright_model", "FIXWRIGHT_MODEL"),
        ("FIXWRIGHT_WEBHOOKSECRET", "FIXWRIGHT_WEBHOOK_SECRET"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest_known(
    monkeypatch: pytest.MonkeyPatch, name: str, nearest: str
) -> None:
    text = problem(monkeypatch, name, "a-value-that-may-be-secret")
    assert text.startswith(f"{name}: there is no such setting")
    assert f"{nearest}=" in text
    assert "may-be-secret" not in text.splitlines()[0]


def test_an_unknown_name_that_is_like_none_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    text = problem(monkeypatch, "FIXWRIGHT_FOO", "bar")
    assert (
        text == "FIXWRIGHT_FOO: there is no such setting; remove it; docs/reference/settings.md has them all"
    )


def test_the_other_process_settings_are_no_unknown_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIXWRIGHT_MODEL", "openai/some-model")
    load_web_settings()
    assert load_worker_settings().model == "openai/some-model"


def test_repositories_and_labels_as_people_write_them(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load_web_settings_with(
        monkeypatch, REPOSITORIES="Local:Acme/Shop,\n github:acme/Web", LABELS="Bug, Needs Docs = docs"
    )
    serving = settings.serving({})
    assert serving.serves("local", "acme/SHOP")
    assert serving.serves("github", "acme/web")
    assert not serving.serves("github", "acme/shop")
    assert settings.labels == {"bug": Category.BUG, "needs docs": Category.DOCS}


def test_prices_by_the_model_s_name(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        """'{"house/large": {"input": 3, "output": 15.00, "cache_read": 0.3}, "ollama/x": {"free": true}}'"""
    )
    monkeypatch.setenv("FIXWRIGHT_MODEL_PRICES", text)
    settings = load_worker_settings()
    large = settings.model_prices["house/large"]
    assert (large.input, large.output) == (Decimal("0.000003"), Decimal("0.000015"))
    assert (large.cache_read, large.cache_write, large.free) == (Decimal("0.0000003"), None, False)
    assert settings.model_prices["ollama/x"].free
    shown = settings.effective()["FIXWRIGHT_MODEL_PRICES"]
    assert shown == "house/large=3.000000/15.000000, ollama/x=free"


def test_every_wrong_price_has_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    text = problem(
        monkeypatch, "FIXWRIGHT_MODEL_PRICES", '{"a/b": {"input": 0}, "c/d": {"free": 1}}', worker=True
    )
    lines = text.splitlines()
    assert len(lines) == 3
    assert all(line.startswith("FIXWRIGHT_MODEL_PRICES: '") for line in lines)
    assert all("; for example FIXWRIGHT_MODEL_PRICES='{" in line for line in lines)


def test_an_estimate_needs_its_stated_price_and_the_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    text = problem(monkeypatch, "FIXWRIGHT_COST_TRACKING", "estimate", worker=True)
    assert text.startswith("FIXWRIGHT_ESTIMATE_PRICE: is not set, while FIXWRIGHT_COST_TRACKING=estimate")
    monkeypatch.setenv("FIXWRIGHT_ESTIMATE_PRICE", '{"input": 20, "output": 100}')
    price = load_worker_settings().estimate_price
    assert price is not None
    assert price.output == Decimal("0.0001")
    text = problem(monkeypatch, "FIXWRIGHT_COST_TRACKING", "strict", worker=True)
    assert text.startswith("FIXWRIGHT_ESTIMATE_PRICE: has no effect")


def test_what_is_in_force_can_be_shown_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIXWRIGHT_API_KEY", "sk-very-secret")
    shown = {**load_web_settings().effective(), **load_worker_settings().effective()}
    assert shown["FIXWRIGHT_WEBHOOK_SECRET"] == "set"
    assert shown["FIXWRIGHT_CONSOLE_TOKEN"] == "not set"
    assert shown["FIXWRIGHT_API_KEY"] == "set"
    assert not {SECRET, "sk-very-secret"} & set(shown.values())
    assert "sk-very-secret" in load_worker_settings().secrets()
    assert SECRET in load_web_settings().secrets()


def test_no_dotenv_file_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("FIXWRIGHT_PORT=1\n")
    monkeypatch.chdir(tmp_path)
    assert load_web_settings().port == 8400


def test_providers_keys_keep_their_names() -> None:
    environ = {"OPENAI_API_KEY": "a", "ANTHROPIC_API_KEY": "", "PATH": "/bin", "MY_API_KEY": "x"}
    assert provider_keys(environ) == {"OPENAI_API_KEY": "a"}


def test_the_reference_names_every_setting_with_a_description_and_an_example() -> None:
    page = settings_page()
    for group in GROUPS:
        for name, field in group.model_fields.items():
            assert f"| `{variable(name)}` |" in page
            assert field.description
            assert field.examples
    assert "`OPENAI_API_KEY`" in page
    assert all(line.count("|") == 5 for line in page.splitlines() if line.startswith("| `"))


def test_only_what_is_secret_among_the_providers_variables_is_redacted() -> None:
    variables = {
        "OPENAI_API_KEY": "sk-1234567",
        "VERTEXAI_LOCATION": "global",
        "AWS_SESSION_TOKEN": "tok-123456",
    }
    assert secret_values(variables) == ["sk-1234567", "tok-123456"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SIGN_OFF", "Acme Bot"),
        ("SIGN_OFF", "Acme <Bot> <bot@acme.example>"),
        ("SIGN_OFF", "Bot <bot@acme.example>\nSigned-off-by: Eve <e@x.example>"),
        ("SIGN_OFF", "Bot <bot@acme@example>"),
        ("PROTECTED_PATHS", "deploy/**,/"),
        ("PROTECTED_PATHS", "a\tb"),
    ],
)
def test_wrong_values_of_what_is_published(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"FIXWRIGHT_{name}", value)
    with pytest.raises(ConfigurationError, match=f"^FIXWRIGHT_{name}: "):
        load_worker_settings()


def test_what_the_operator_says_of_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_worker_settings().sign_off == "" and load_worker_settings().protected_paths == ()
    monkeypatch.setenv("FIXWRIGHT_SIGN_OFF", " Ünï Bot <bot@acme.example> ")
    monkeypatch.setenv("FIXWRIGHT_PROTECTED_PATHS", "deploy/**, *.tf,")
    settings = load_worker_settings()
    assert settings.sign_off == "Ünï Bot <bot@acme.example>"
    assert settings.protected_paths == ("deploy/**", "*.tf")


def test_githubs_key_comes_from_a_variable_or_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nabcdefghijklmnopqrstuvwxyz\n-----END RSA PRIVATE KEY-----\n"
    monkeypatch.setenv("FIXWRIGHT_GITHUB_PRIVATE_KEY", key.replace("\n", "\\n"))
    assert load_worker_settings().github_key() == key
    assert key in load_worker_settings().secrets() and "abcdef" not in repr(load_worker_settings())
    file = tmp_path / "app.pem"
    file.write_text(key)
    monkeypatch.setenv("FIXWRIGHT_GITHUB_PRIVATE_KEY_FILE", str(file))
    with pytest.raises(ConfigurationError, match="PRIVATE_KEY_FILE: is set beside"):
        load_worker_settings().github_key()
    monkeypatch.delenv("FIXWRIGHT_GITHUB_PRIVATE_KEY")
    assert load_worker_settings().github_key() == key
    file.unlink()
    with pytest.raises(ConfigurationError, match=r"app\.pem cannot be read \(No such file"):
        load_worker_settings().github_key()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_APP_ID", "my-app"),
        ("GITHUB_APP_ID", "1 2"),
        ("GITHUB_API_URL", "github.example.com"),
        ("GITHUB_API_URL", "https://me:secret@github.example.com/api/v3"),
    ],
)
def test_githubs_other_settings_are_checked(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"FIXWRIGHT_{name}", value)
    with pytest.raises(ConfigurationError, match=f"FIXWRIGHT_{name}: "):
        load_worker_settings()


@pytest.mark.parametrize("label", ["bug", "Bug", " DOCS ", "defect"])
def test_a_draft_s_label_that_asks_for_work_is_refused_at_the_start(
    monkeypatch: pytest.MonkeyPatch, label: str
) -> None:
    monkeypatch.setenv("FIXWRIGHT_LABELS", "bug,docs,Defect=bug")
    text = problem(monkeypatch, "FIXWRIGHT_PULL_LABELS", f"fixwright,{label}", worker=True)
    assert text.startswith(f"FIXWRIGHT_PULL_LABELS: holds {label.strip()!r}, which is a label that asks for")
    assert "for example FIXWRIGHT_PULL_LABELS=fixwright" in text


def test_how_many_tasks_may_wait_is_both_processes_business(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIXWRIGHT_MAX_QUEUED", "7")
    assert load_web_settings().max_queued == load_worker_settings().max_queued == 7
    assert "FIXWRIGHT_MAX_QUEUED" in problem(monkeypatch, "FIXWRIGHT_MAX_QUEUED", "0")
