"""Configuration choices derived from flavors."""

from hypothesis import example, given
from hypothesis import strategies as st

from cloudconsole.core.resources import flavors_record
from cloudconsole.spec.records import Flavor

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


def test_flavors_keep_their_order_and_choices_are_sorted_numerically() -> None:
    shapes = [(16, 10240), (2, 2048), (1, 512)]
    flavors = [Flavor(str(index), f"f{index}", vcpus, ram, 0) for index, (vcpus, ram) in enumerate(shapes)]
    record = flavors_record(flavors)
    assert record.flavors == flavors
    assert list(record.limits) == ["1", "2", "16"]


@given(flavor_lists)
@example([])
def test_choices_are_exactly_the_existing_values_and_pairs_ascending(flavors: list[Flavor]) -> None:
    record = flavors_record(flavors)
    pairs = [(int(vcpus), ram) for vcpus, rams in record.limits.items() for ram in rams]
    assert record.configs.vcpus == sorted({flavor.vcpus for flavor in flavors})
    assert record.configs.ram == sorted({flavor.ram for flavor in flavors})
    assert pairs == sorted({(flavor.vcpus, flavor.ram) for flavor in flavors})
