"""Metrics pages, parsed as a scraper parses them."""

from prometheus_client.parser import text_string_to_metric_families

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


class MetricsPage:
    def __init__(self, text: str) -> None:
        self.families = {family.name: family for family in text_string_to_metric_families(text)}
        self.samples: Samples = {}
        for family in self.families.values():
            for sample in family.samples:
                key = (sample.name, frozenset(sample.labels.items()))
                assert key not in self.samples, key
                self.samples[key] = sample.value

    def value(self, name: str, **labels: str) -> float:
        """The value of a sample, or 0 if there is none."""
        return self.samples.get((f"cloudconsole_{name}", frozenset(labels.items())), 0)

    def by_label(self, name: str, label: str) -> dict[str, float]:
        """Nonzero values of a metric with one label."""
        return {dict(labels)[label]: value for labels, value in self._nonzero(name)}

    def requests(self) -> dict[tuple[str, str], float]:
        """Nonzero request counts by operation and outcome."""
        found = ((dict(labels), value) for labels, value in self._nonzero("requests_total"))
        return {(labels["operation"], labels["outcome"]): value for labels, value in found}

    def _nonzero(self, name: str) -> list[tuple[frozenset[tuple[str, str]], float]]:
        samples = self.samples.items()
        return [(labels, value) for (known, labels), value in samples if value and known == f"cloudconsole_{name}"]

    def buckets(self, name: str, **labels: str) -> list[float]:
        """A histogram's buckets in the order of their bounds."""
        found = [
            (float(dict(given)["le"]), value)
            for (known, given), value in self.samples.items()
            if known == f"cloudconsole_{name}_bucket" and labels.items() <= dict(given).items()
        ]
        return [value for _, value in sorted(found)]
