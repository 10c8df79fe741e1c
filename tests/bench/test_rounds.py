"""Rotation of the variants."""

from bench.rounds import rotated


def test_every_round_has_every_variant() -> None:
    for number in range(10):
        assert sorted(rotated(["a", "b", "c"], number)) == ["a", "b", "c"]


def test_each_variant_comes_first_and_last_in_some_round() -> None:
    rounds = [list(rotated(["a", "b", "c"], number)) for number in range(6)]
    assert {order[0] for order in rounds} == {order[-1] for order in rounds} == {"a", "b", "c"}


def test_neighbours_alternate_in_order() -> None:
    orders = [list(rotated(["console", "bare", "x", "y"], number)) for number in range(4)]
    firsts = [order.index("console") < order.index("bare") for order in orders]
    assert {True, False} == set(firsts)
