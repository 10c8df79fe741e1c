// Pick a flavor by cores, then RAM. Only RAM sizes that are available with the selected cores are offered.

import { announce } from "../../components/announce.js";
import { h, newId, replace } from "../../core/dom.js";
import { formatNumber, t } from "../../core/i18n.js";
import { formatSize } from "../../core/numbers.js";
import { chips } from "./chips.js";
import { flavorTable } from "./table.js";

export function picker({ flavors, configs, limits }, units, state) {
  const id = newId("picker");
  const steps = h("div", { class: "picker-steps" });
  const results = h("div", { class: "picker-results" });
  const ramSizes = (cores) => (Object.hasOwn(limits, String(cores)) ? limits[String(cores)] : []);
  let cores = configs.vcpus.find((each) => String(each) === state.get("cores")) ?? null;
  let ram = ramSizes(cores).find((each) => String(each) === state.get("ram")) ?? null;

  function selectCores(value) {
    const before = ram;
    cores = value;
    if (!ramSizes(cores).includes(ram)) ram = null;
    const isCleared = before !== null && ram === null && cores !== null;
    const warning = () => t("flavors.ram_cleared", { ram: formatSize(before, units.ram), cores: coresText(cores) });
    update(isCleared ? warning() : null);
  }

  function selectRam(value) {
    ram = value;
    update(null);
  }

  function update(warning) {
    state.set({ cores: cores ?? "", ram: ram ?? "" });
    render(warning);
    announce([warning, cores === null ? null : countText(matches())].filter(Boolean).join(" "));
  }

  function matches() {
    const sizes = ram === null ? ramSizes(cores) : [ram];
    return flavors.filter((each) => each.vcpus === cores && sizes.includes(each.ram));
  }

  function render(warning) {
    const focusId = steps.contains(document.activeElement) ? document.activeElement.id : null;
    const ramContent = cores === null ? h("p", { class: "muted" }, t("flavors.cores_first")) : ramStep();
    replace(steps, coresStep(), h("div", {}, ramContent, warning && h("p", { class: "picker-warning" }, warning)));
    if (focusId) document.getElementById(focusId)?.focus();
    replace(results, cores !== null && resultTable());
  }

  function coresStep() {
    const options = { values: configs.vcpus, format: formatNumber, selected: cores, onSelect: selectCores };
    return chips({ legend: t("flavors.cores"), name: "cores", ...options });
  }

  function ramStep() {
    const format = (each) => formatSize(each, units.ram);
    const options = { values: ramSizes(cores), format, selected: ram, onSelect: selectRam };
    return chips({ legend: t("flavors.ram_with", { cores: coresText(cores) }), name: "ram", ...options });
  }

  function resultTable() {
    const rows = matches();
    const title = ram === null
      ? t("flavors.match.cores", { cores: coresText(cores) })
      : t("flavors.match.both", { cores: coresText(cores), ram: formatSize(ram, units.ram) });
    return [
      h(
        "div",
        { class: "results-head" },
        h("div", {}, h("h3", {}, title), h("span", { class: "muted" }, countText(rows))),
        h("button", { type: "button", onclick: reset }, t("flavors.reset")),
      ),
      rows.length === 0
        ? h("p", { class: "empty" }, t("flavors.no_match"))
        : flavorTable(rows, units, { caption: title, hasCopyButtons: true }),
    ];
  }

  function reset() {
    cores = ram = null;
    update(null);
    steps.querySelector("input")?.focus();
  }

  render(null);
  return h(
    "section",
    { class: "card picker", "aria-labelledby": id },
    h("h2", { id }, t("flavors.pick")),
    configs.vcpus.length === 0 ? h("p", { class: "empty" }, t("flavors.empty")) : [steps, results],
  );
}

function coresText(cores) {
  return cores === 1 ? t("flavors.core") : t("flavors.n_cores", { count: formatNumber(cores) });
}

function countText(rows) {
  return t("flavors.matches", { count: formatNumber(rows.length) });
}
