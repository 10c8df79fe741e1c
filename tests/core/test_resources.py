"""Configuration choices derived from flavors."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from cloudconsole.core.resources import flavors_record
from cloudconsole.spec.records import Flavor, Flavors

flavor_lists = st.lists(
    st.builds(
        Flavor,
        id=st.integers(1, 99).map(str),
        name=st.text(max_size=5),
        vcpus=st.integers(1, 16),
        ram=st.sampled_from([512, 1024, 2048, 4096, 10240, 16384]),
        disk=st.integers(0, 100),
    ),
    max_size=30,
)


def _record(*shapes: tuple[int, int]) -> Flavors:
    flavors = [Flavor(str(index), f"f{index}", vcpus, ram, 0) for index, (vcpus, ram) in enumerate(shapes)]
    return flavors_record(flavors)


def test_no_flavors_give_no_choices() -> None:
    record = _record()
    assert (record.flavors, record.configs.vcpus, record.configs.ram, record.limits) == ([], [], [], {})


def test_values_are_sorted_numerically() -> None:
    record = _record((16, 10240), (2, 2048), (1, 512))
    assert record.configs.vcpus == [1, 2, 16]
    assert record.configs.ram == [512, 2048, 10240]
    assert list(record.limits) == ["1", "2", "16"]


def test_flavors_that_differ_only_in_disk_give_one_choice() -> None:
    record = _record((1, 512), (1, 512), (1, 1024))
    assert (record.configs.vcpus, record.configs.ram, record.limits) == ([1], [512, 1024], {"1": [512, 1024]})


def test_flavors_keep_their_order() -> None:
    assert [flavor.id for flavor in _record((4, 4096), (1, 512), (2, 1024)).flavors] == ["0", "1", "2"]


@given(flavor_lists)
def test_limits_contain_exactly_the_existing_pairs(flavors: list[Flavor]) -> None:
    record = flavors_record(flavors)
    pairs = [(int(vcpus), ram) for vcpus, rams in record.limits.items() for ram in rams]
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == {(flavor.vcpus, flavor.ram) for flavor in flavors}


@given(flavor_lists)
def test_every_list_is_strictly_ascending(flavors: list[Flavor]) -> None:
    record = flavors_record(flavors)
    for values in (record.configs.vcpus, record.configs.ram, *record.limits.values()):
        assert all(low < high for low, high in pairwise(values))


@given(flavor_lists)
def test_configs_contain_exactly_the_existing_values(flavors: list[Flavor]) -> None:
    record = flavors_record(flavors)
    assert set(record.configs.vcpus) == {flavor.vcpus for flavor in flavors}
    assert set(record.configs.ram) == {flavor.ram for flavor in flavors}
    assert set(record.limits) == {str(flavor.vcpus) for flavor in flavors}
