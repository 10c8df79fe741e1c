"""The six payloads, exactly as they stand on the wire, and what `GET /api/` says of the console."""

from typing import Literal

from msgspec import Raw, Struct, field

ResourceType = Literal["instance", "image", "loadbalance", "volume"]


class UsageLimits(Struct, frozen=True, kw_only=True):
    """`data` of GetUsageLimits. RAM in MB, volumes in GB, personality size in bytes; `-1` is unlimited."""

    max_total_instances: int = field(name="maxTotalInstances")
    total_instances_used: int = field(name="totalInstancesUsed")
    max_total_cores: int = field(name="maxTotalCores")
    total_cores_used: int = field(name="totalCoresUsed")
    max_total_ram_size: int = field(name="maxTotalRAMSize")
    total_ram_used: int = field(name="totalRAMUsed")
    max_total_volumes: int = field(name="maxTotalVolumes")
    total_volumes_used: int = field(name="totalVolumesUsed")
    max_total_volume_gigabytes: int = field(name="maxTotalVolumeGigabytes")
    total_gigabytes_used: int = field(name="totalGigabytesUsed")
    max_total_snapshots: int = field(name="maxTotalSnapshots")
    total_snapshots_used: int = field(name="totalSnapshotsUsed")
    max_total_floating_ips: int = field(name="maxTotalFloatingIps")
    total_floating_ips_used: int = field(name="totalFloatingIpsUsed")
    max_security_groups: int = field(name="maxSecurityGroups")
    total_security_groups_used: int = field(name="totalSecurityGroupsUsed")
    max_security_group_rules: int = field(name="maxSecurityGroupRules")
    max_total_keypairs: int = field(name="maxTotalKeypairs")
    max_personality: int = field(name="maxPersonality")
    max_personality_size: int = field(name="maxPersonalitySize")
    max_image_meta: int = field(name="maxImageMeta")
    max_server_meta: int = field(name="maxServerMeta")


class Flavor(Struct, frozen=True):
    id: str
    name: str
    vcpus: int
    ram: int
    disk: int


class FlavorConfigs(Struct, frozen=True):
    vcpus: list[int]
    ram: list[int]


class Flavors(Struct, frozen=True):
    """`data` of GetFlavors: all configurations, the selectable values, and which RAM goes with which cores."""

    flavors: list[Flavor]
    configs: FlavorConfigs
    limits: dict[str, list[int]]


class UrlItem(Struct, frozen=True):
    url: str
    type: str
    id: str


class OriginConfig(Struct, frozen=True):
    origin_ips: list[str] = field(name="originIps")
    adv_origin_configs: Raw = field(name="advOriginConfigs")
    origin_domain_name: str | None = field(name="originDomainName")


class DomainDetail(Struct, frozen=True, kw_only=True):
    """`data` of GetDomainDetail. `enabled` is the text "true" or "false", as callers of this interface expect."""

    domain_id: str = field(name="domainId")
    domain_name: str = field(name="domainName")
    comment: str
    service_areas: str = field(name="serviceAreas")
    service_type: str = field(name="serviceType")
    enabled: Literal["true", "false"]
    cname: str
    status: str
    cache_behaviors: Raw = field(name="cacheBehaviors")
    visit_control_rules: Raw = field(name="visitControlRules")
    origin_config: OriginConfig = field(name="originConfig")
    query_string_settings: str | None = field(name="queryStringSettings")


class NewsItem(Struct, frozen=True):
    date: str
    url: str
    title: str


class ConsumptionItem(Struct, frozen=True):
    res_type: ResourceType
    hour: str
    day: str
    month: str
    year: str


class Units(Struct, frozen=True):
    ram: str = "MB"
    disk: str = "GB"
    volume: str = "GB"
    personality: str = "B"


class Welcome(Struct, frozen=True):
    """`data` of `GET /api/`: what a newcomer, a page or a command line needs to begin."""

    actions: list[str]
    regions: list[str]
    currency: str
    time_zone: str = field(name="timeZone")
    month_days: int = field(name="monthDays")
    units: Units = Units()
