"""Ways to split a total."""


def split_evenly(total_cents, people):
    """Return what each of `people` pays of `total_cents`, largest shares first."""
    if people < 1:
        raise ValueError("a bill needs at least one person to pay it")
    share = total_cents // people
    return [share] * people


def split_by_weight(total_cents, weights):
    """Return shares in proportion to `weights`; what rounding leaves over goes to the heaviest."""
    whole = sum(weights)
    if whole <= 0:
        raise ValueError("weights must add up to more than zero")
    shares = [total_cents * weight // whole for weight in weights]
    shares[weights.index(max(weights))] += total_cents - sum(shares)
    return shares
