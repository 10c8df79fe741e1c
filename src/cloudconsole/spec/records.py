"""Payload types of the six actions and GET /api/, with field docs."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Raw, Struct, field


def field_doc(description: str, *, unit: str | None = None, **schema: Any) -> Meta:
    """Describe a field for `Annotated`, with a unit and further JSON Schema; decoding ignores all of it."""
    return Meta(description=description, extra_json_schema=({"x-unit": unit} if unit else {}) | schema or None)


_ANY_ITEMS = field_doc("Items of any structure stored by the operator.", type="array", items={})

BillableType = Literal["instance", "image", "loadbalance", "volume"]

DECIMAL = r"^(0|[1-9][0-9]*)\.[0-9]{2,9}$"
SIGNED_DECIMAL = r"^-?(0|[1-9][0-9]*)\.[0-9]{2,9}$"
TIMESTAMP = "^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$"


class UsageLimits(Struct, frozen=True):
    """`data` of GetUsageLimits: each quota (`-1` if unlimited) and its usage."""

    max_total_instances: Annotated[int, field_doc("Instances: the quota.")] = field(name="maxTotalInstances")
    total_instances_used: Annotated[int, field_doc("Instances in use.")] = field(name="totalInstancesUsed")
    max_total_cores: Annotated[int, field_doc("Cores of all instances: the quota.")] = field(name="maxTotalCores")
    total_cores_used: Annotated[int, field_doc("Cores in use.")] = field(name="totalCoresUsed")
    max_total_ram_size: Annotated[int, field_doc("RAM of all instances: the quota.", unit="MB")] = field(
        name="maxTotalRAMSize"
    )
    total_ram_used: Annotated[int, field_doc("RAM in use.", unit="MB")] = field(name="totalRAMUsed")
    max_total_volumes: Annotated[int, field_doc("Volumes: the quota.")] = field(name="maxTotalVolumes")
    total_volumes_used: Annotated[int, field_doc("Volumes in use.")] = field(name="totalVolumesUsed")
    max_total_volume_gigabytes: Annotated[
        int, field_doc("Size of all volumes and their snapshots: the quota.", unit="GB")
    ] = field(name="maxTotalVolumeGigabytes")
    total_gigabytes_used: Annotated[int, field_doc("Size of volumes and their snapshots in use.", unit="GB")] = field(
        name="totalGigabytesUsed"
    )
    max_total_snapshots: Annotated[int, field_doc("Snapshots of disks: the quota.")] = field(name="maxTotalSnapshots")
    total_snapshots_used: Annotated[int, field_doc("Snapshots in use.")] = field(name="totalSnapshotsUsed")
    max_total_floating_ips: Annotated[int, field_doc("Floating IPs: the quota.")] = field(name="maxTotalFloatingIps")
    total_floating_ips_used: Annotated[int, field_doc("Floating IPs in use.")] = field(name="totalFloatingIpsUsed")
    max_security_groups: Annotated[int, field_doc("Security groups: the quota.")] = field(name="maxSecurityGroups")
    total_security_groups_used: Annotated[int, field_doc("Security groups in use.")] = field(
        name="totalSecurityGroupsUsed"
    )
    max_security_group_rules: Annotated[int, field_doc("Rules in one security group: the quota.")] = field(
        name="maxSecurityGroupRules"
    )
    max_total_keypairs: Annotated[int, field_doc("Key pairs: the quota.")] = field(name="maxTotalKeypairs")
    max_personality: Annotated[int, field_doc("Files injected into an instance: the quota.")] = field(
        name="maxPersonality"
    )
    max_personality_size: Annotated[int, field_doc("Size of one injected file: the quota.", unit="B")] = field(
        name="maxPersonalitySize"
    )
    max_image_meta: Annotated[int, field_doc("Metadata items of an image: the quota.")] = field(name="maxImageMeta")
    max_server_meta: Annotated[int, field_doc("Metadata items of an instance: the quota.")] = field(
        name="maxServerMeta"
    )


class Flavor(Struct, frozen=True):
    """One virtual-machine configuration."""

    id: Annotated[str, field_doc("Numeric text.")]
    name: Annotated[str, field_doc("A custom flavor is named `<vcpus>C<RAM in GB>G<disk>G`: `2C4G40G` has `ram` 4096.")]
    vcpus: Annotated[int, field_doc("Cores.")]
    ram: Annotated[int, field_doc("RAM.", unit="MB")]
    disk: Annotated[int, field_doc("System disk; 0 without one.", unit="GB")]


class FlavorConfigs(Struct, frozen=True):
    """The selectable values."""

    vcpus: Annotated[list[int], field_doc("Core counts, ascending, without repeats.")]
    ram: Annotated[list[int], field_doc("RAM sizes, ascending, without repeats.", unit="MB")]


class Flavors(Struct, frozen=True):
    """`data` of GetFlavors: all configurations, the selectable values, and which RAM sizes each core count allows."""

    flavors: Annotated[list[Flavor], field_doc("All configurations.")]
    configs: Annotated[FlavorConfigs, field_doc("The selectable values.")]
    limits: Annotated[
        dict[str, list[int]],
        field_doc("For each core count, as text, the allowed RAM sizes, ascending.", unit="MB"),
    ]


class UrlItem(Struct, frozen=True):
    """One URL, the tenant's own or published to all tenants."""

    url: Annotated[str, field_doc("The URL itself.")]
    type: Annotated[
        str,
        field_doc("`URL链接` (link) or `URL目录` (directory).", enum=["URL链接", "URL目录"]),
    ]
    id: Annotated[
        str,
        field_doc("`url-` and 8 lowercase letters or digits; the list is ordered by it.", pattern="^url-[a-z0-9]{8}$"),
    ]


class OriginConfig(Struct, frozen=True):
    """Where a domain's content comes from."""

    origin_ips: Annotated[list[str], field_doc("Addresses of the origin.")] = field(name="originIps")
    adv_origin_configs: Annotated[Raw, field_doc("Any structure stored by the operator, or null.")] = field(
        name="advOriginConfigs"
    )
    origin_domain_name: Annotated[str | None, field_doc("The origin's domain name, or null.")] = field(
        name="originDomainName"
    )


class DomainDetail(Struct, frozen=True, kw_only=True):
    """`data` of GetDomainDetail."""

    domain_id: Annotated[str, field_doc("The requested ID.")] = field(name="domainId")
    domain_name: Annotated[str, field_doc("The CDN domain.")] = field(name="domainName")
    comment: Annotated[str, field_doc("May be empty, never null.")]
    service_areas: Annotated[str, field_doc("Codes separated by semicolons; accept any value.")] = field(
        name="serviceAreas"
    )
    service_type: Annotated[str, field_doc("As the operator recorded it; accept any value.")] = field(
        name="serviceType"
    )
    enabled: Annotated[Literal["true", "false"], field_doc('The text `"true"` or `"false"`, not a boolean.')]
    cname: Annotated[str, field_doc("The name to point the domain at.")]
    status: Annotated[str, field_doc("As the operator recorded it; accept any value. No transitions are defined.")]
    cache_behaviors: Annotated[Raw, _ANY_ITEMS] = field(name="cacheBehaviors")
    visit_control_rules: Annotated[Raw, _ANY_ITEMS] = field(name="visitControlRules")
    origin_config: Annotated[OriginConfig, field_doc("Where the content comes from.")] = field(name="originConfig")
    query_string_settings: Annotated[str | None, field_doc("As the operator recorded it, or null.")] = field(
        name="queryStringSettings"
    )


class NewsItem(Struct, frozen=True):
    """One announcement."""

    date: Annotated[
        str, field_doc("`YYYY-MM-DD HH:MM:SS` in the operator's time zone, see `GET /api/`.", pattern=TIMESTAMP)
    ]
    url: Annotated[str, field_doc("Link to the full text.")]
    title: Annotated[str, field_doc("Its title.")]


class ConsumptionItem(Struct, frozen=True):
    """Estimated cost of one kind of resource."""

    res_type: Annotated[BillableType, field_doc("The kind of resource.")]
    hour: Annotated[str, field_doc("For the current clock hour, as decimal text.", unit="currency", pattern=DECIMAL)]
    day: Annotated[str, field_doc("`hour` × 24.", unit="currency", pattern=DECIMAL)]
    month: Annotated[str, field_doc("`day` × 30.", unit="currency", pattern=DECIMAL)]
    year: Annotated[str, field_doc("`day` × 365.", unit="currency", pattern=DECIMAL)]


class Units(Struct, frozen=True):
    """Units of sizes."""

    ram: Annotated[str, field_doc("Of RAM.")] = "MB"
    disk: Annotated[str, field_doc("Of system disks.")] = "GB"
    volume: Annotated[str, field_doc("Of volumes.")] = "GB"
    personality: Annotated[str, field_doc("Of injected files.")] = "B"


class Welcome(Struct, frozen=True):
    """`data` of `GET /api/`: what a client needs to start."""

    actions: Annotated[list[str], field_doc("The names of the six actions.")]
    regions: Annotated[list[str], field_doc("The URLs accepted as `region` at login.")]
    currency: Annotated[str, field_doc("The currency of all amounts, an ISO 4217 code.", pattern="^[A-Z]{3}$")]
    time_zone: Annotated[str, field_doc("The operator's time zone, used for the clock hour and news dates.")] = field(
        name="timeZone"
    )
    month_days: Annotated[int, field_doc("Days in an estimated month.")] = field(name="monthDays")
    units: Annotated[Units, field_doc("Units of sizes.")] = Units()
    extensions: Annotated[list[str], field_doc("The names of further actions; consoles differ in these.")] = []
