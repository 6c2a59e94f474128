import pytest

from fairshare import split_by_weight, split_evenly


def test_an_even_bill():
    assert split_evenly(9000, 3) == [3000, 3000, 3000]


def test_one_person_pays_all():
    assert split_evenly(1234, 1) == [1234]


def test_nobody_cannot_pay():
    with pytest.raises(ValueError):
        split_evenly(100, 0)


def test_by_weight_covers_the_bill():
    shares = split_by_weight(10000, [1, 1, 1])
    assert sum(shares) == 10000


def test_by_weight_in_proportion():
    assert split_by_weight(600, [1, 2, 3]) == [100, 200, 300]
