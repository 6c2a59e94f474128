"""What each kind of evidence does in a small tree, strategies by name, and failures that cost nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from domain.model import Localization, PastChange
from harness.localize import STRATEGIES, FaultLocalizer, ForgivingLocalizer, localizer_named
from harness.localize.weights import TABLE, Form, read_weights

SHOP: Mapping[str, str] = {
    "src/shop/__init__.py": "from .prices import total\n",
    "src/shop/prices.py": "from .base import Rate\n\ndef total(items):\n    return sum(items)\n",
    "src/shop/base.py": "class Rate:\n    def apply(self, amount):\n        return amount\n",
    "src/shop/orders.py": "def cancel(one):\n    raise ValueError('order %s already shipped today' % one)\n",
    "src/shop/carts.py": "class Cart:\n    def add(self, thing):\n        return thing\n",
    "src/shop/command.py": "def options(parser):\n    parser.add_argument('--dry-run')\n",
    "tests/test_carts.py": "def test_basket_overflow_quota():\n    assert 'basket overflow quota'\n",
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    for path, text in SHOP.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("issue", "path"),
    [
        ("Refund fails\nThe log says `order 7 already shipped today`", "src/shop/orders.py"),
        ("Refund fails\n```python\nfrom shop import total\n```", "src/shop/prices.py"),
        ("Basket overflow quota\nis wrong", "src/shop/carts.py"),
        ("Refund fails\nSee https://x.example/acme/shop/blob/main/src/shop/base.py#L2", "src/shop/base.py"),
        ("Refund fails\nin Cart.add", "src/shop/carts.py"),
        ("Refund fails\nWhat shop.total says is wrong", "src/shop/prices.py"),
        ("Refund fails\nfor --dry-run too", "src/shop/command.py"),
    ],
    ids=[
        *("message", "import through the package", "test named after it", "address", "qualified name"),
        *("dotted name through the package", "flag"),
    ],
)
def test_kinds_of_evidence(shop: Path, issue: str, path: str) -> None:
    found = FaultLocalizer().localize(shop, issue)

    assert found.suspects[0].path == path, found.suspects


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_can_be_had_by_name(shop: Path, strategy: str) -> None:
    found = localizer_named(strategy).localize(shop, "cancel an order", "", 500)

    assert found.strategy == strategy
    assert (found.suspects == ()) is (strategy == "null")
    if found.suspects:
        assert found.suspects[0].path == "src/shop/orders.py"


def test_an_unknown_strategy_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="no strategy 'best'; there are null, grep"):
        localizer_named("best")


def test_with_and_without_an_index_is_the_same(shop: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    index = tmp_path_factory.mktemp("kept") / "index.sqlite"
    issue = "cancel an order in the cart\nprices.total"
    found = [FaultLocalizer(index=where).localize(shop, issue, "", 500) for where in (None, index, index)]

    assert len({(each.suspects, each.slices) for each in found}) == 1


def test_a_failing_localizer_costs_nothing_but_its_help(shop: Path) -> None:
    class Broken:
        name = "broken"

        def localize(
            self,
            tree: Path,
            issue_text: str,
            failing_output: str,
            token_budget: int,
            past: Sequence[PastChange] = (),
        ) -> Localization:
            raise RuntimeError("a fault of ours")

    found = ForgivingLocalizer(Broken()).localize(shop, "x", "", 10)

    assert (found.strategy, found.suspects, found.slices) == ("broken", (), "")


def test_shares_sum_to_one_at_most(shop: Path) -> None:
    found = FaultLocalizer().localize(shop, "cancel an order in the cart")

    assert 0.99 < sum(suspect.score for suspect in found.suspects) <= 1.001


def test_the_table_is_readable() -> None:
    table = read_weights()

    assert set(table) == set(STRATEGIES) - {"null"}
    assert all(line.weight and isinstance(line.form, Form) for w in table.values() for line in w.files)
    assert json.loads(TABLE.read_text())["full"]["files"][0][0]


def test_other_peoples_code_comes_after_our_own(tmp_path: Path) -> None:
    tree = {
        "shop/__init__.py": "__version__ = '1'\n",
        "shop/basket.py": "def fill(basket, thing):\n    return [*basket, thing]\n",
        "shop/packages/__init__.py": "",
        "shop/packages/baskets/__init__.py": "__version__ = '7.2'\n",
        "shop/packages/baskets/basket.py": "def fill(basket, thing):\n    return [*basket, thing, thing]\n",
        "shop/static/basket-3.5.1.js": "function basket(thing) { return fill(basket, thing); }\n",
    }
    for path, text in tree.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    found = FaultLocalizer().localize(tmp_path, "Fill a basket with a thing\nfill the basket twice")

    places = [suspect.path for suspect in found.suspects]
    assert places[0] == "shop/basket.py"
    assert places.index("shop/packages/baskets/basket.py") > 0
    assert places.index("shop/static/basket-3.5.1.js") > 0


def test_a_package_within_a_package_without_a_version_is_our_own(tmp_path: Path) -> None:
    inner = tmp_path / "shop" / "packages" / "baskets"
    inner.mkdir(parents=True)
    for folder in (tmp_path / "shop", inner.parent, inner):
        (folder / "__init__.py").write_text("")
    (inner / "basket.py").write_text("def fill(basket, thing):\n    return [*basket, thing]\n")
    (tmp_path / "shop" / "other.py").write_text("def fill(thing):\n    return thing\n")
    found = FaultLocalizer().localize(tmp_path, "Fill a basket with a thing")

    assert found.suspects[0].path == "shop/packages/baskets/basket.py"


@pytest.mark.parametrize("providers", [["amazon", "google", "http", "mail", "sftp"], ["amazon"]])
def test_parts_of_the_product_with_releases_of_their_own_are_no_other_peoples_code(
    tmp_path: Path, providers: list[str]
) -> None:
    root = tmp_path / "flow" / "providers"
    for provider in providers:
        (root / provider).mkdir(parents=True)
        (root / provider / "__init__.py").write_text("__version__ = '8.1'\n")
        for module in range(40):
            (root / provider / f"hook{module}.py").write_text(f"def connect{module}(bucket):\n    pass\n")
    for folder in (root, root.parent):
        (folder / "__init__.py").write_text("")
    (root / "amazon" / "bucket.py").write_text("def list_bucket(name):\n    return name\n")
    (root.parent / "names.py").write_text("def bucket_name(name):\n    return name\n")
    found = FaultLocalizer().localize(tmp_path, "List a bucket of amazon by its name")

    assert found.suspects[0].path == "flow/providers/amazon/bucket.py"


def test_a_definition_is_found_by_its_class_its_path_and_its_text_together(tmp_path: Path) -> None:
    (tmp_path / "carts.py").write_text(
        "class Cart:\n    def add(self, thing):\n        return thing\n\n"
        "    def drop(self, thing):\n        return None\n\n\n"
        "class Shelf:\n    def add(self, thing):\n        return thing\n"
    )
    found = FaultLocalizer().localize(tmp_path, "Add a thing to a shelf\nA shelf forgets what it is given.")

    assert found.suspects[0].symbol == "Shelf.add"


def change(message: str, *paths: str) -> PastChange:
    return PastChange(message=message, paths=paths)


PAST = (
    change("Tidy", "src/shop/base.py"),
    change("Mend the refund of gift vouchers", "src/shop/carts.py", "tests/test_carts.py"),
    *(change(f"Other work {number}", "src/shop/command.py") for number in range(40)),
    change("Mend something else", "src/shop/gone.py"),
)


def test_files_that_a_change_with_a_like_message_touched_come_first(shop: Path) -> None:
    issue = "Refunds of gift vouchers come twice"
    with_past = FaultLocalizer().localize(shop, issue, past=PAST)

    assert with_past.suspects[0].path == "src/shop/carts.py"
    assert "changes with a like message touched it" in with_past.suspects[0].why
    assert FaultLocalizer().localize(shop, issue, past=PAST).suspects == with_past.suspects


def test_the_past_does_not_outweigh_what_the_issue_says(shop: Path) -> None:
    issue = "Cancel one order\nThe log says `order 7 already shipped today`"

    assert FaultLocalizer().localize(shop, issue, past=PAST).suspects[0].path == "src/shop/orders.py"


def test_without_a_past_nothing_changes(shop: Path) -> None:
    issue = "cancel an order in the cart"
    found = [FaultLocalizer().ranking(shop, issue, past=past) for past in ((), (change("x", "absent.py"),))]

    assert [(item.file, item.score) for item in found[0].files] == [
        (item.file, item.score) for item in found[1].files
    ]
