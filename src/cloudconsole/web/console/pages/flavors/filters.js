// Filters of the flavors table: cores, RAM, system disk and text. Only RAM sizes and disks that exist with the rest of
// the selection are offered.

import { announce } from "../../components/announce.js";
import { h, newId, replace } from "../../core/dom.js";
import { formatNumber, t } from "../../core/i18n.js";
import { formatSize } from "../../core/numbers.js";
import { chips } from "./chips.js";
import { coresText } from "./spec.js";

const DEBOUNCE_MS = 250;

// `onChange` is called after each change. Returns {element, toggle, matches, activeCount, countText, renderToggle, reset};
// the toggle shows and hides the filters where the screen is narrow.
export function flavorFilters({ flavors, configs, limits }, units, state, onChange) {
  const ramSizes = () => (cores === null ? configs.ram : Object.hasOwn(limits, cores) ? limits[cores] : []);
  const fromUrl = (name, values) => values.find((each) => String(each) === state.get(name)) ?? null;
  let cores = fromUrl("cores", configs.vcpus);
  let ram = fromUrl("ram", ramSizes());
  let disk = fromUrl("disk", disks());
  let search = state.get("search");
  let timer = null;
  const coresPlace = h("div", {});
  const ramPlace = h("div", {});
  const diskPlace = h("div", { class: "filter-disk" });
  const warningText = h("p", { class: "picker-warning" });

  function disks() {
    const found = flavors.filter((each) => fits(each)).map((flavor) => flavor.disk);
    return [...new Set(found)].sort((a, b) => a - b);
  }

  function fits(flavor) {
    return (cores === null || flavor.vcpus === cores) && (ram === null || flavor.ram === ram);
  }

  function matches() {
    const text = search.toLowerCase();
    return flavors.filter(
      (each) =>
        fits(each) &&
        (disk === null || each.disk === disk) &&
        (each.name.toLowerCase().includes(text) || each.id.toLowerCase().includes(text)),
    );
  }

  function selectCores(value) {
    cores = value;
    const cleared = ram !== null && !ramSizes().includes(ram) ? ram : null;
    if (cleared !== null) ram = null;
    renderRam();
    const values = { ram: cleared !== null && formatSize(cleared, units.ram), cores: cores !== null && coresText(cores) };
    update(cleared !== null && t("flavors.ram_cleared", values));
  }

  function selectRam(value) {
    ram = value;
    update(null);
  }

  function selectDisk(value) {
    disk = value;
    update(null);
  }

  function update(warning) {
    const isCleared = disk !== null && !disks().includes(disk);
    const text = warning || (isCleared && t("flavors.disk_cleared", { disk: diskText(disk) }));
    if (isCleared) disk = null;
    if (!diskPlace.contains(document.activeElement)) renderDisk();
    replace(warningText, text);
    state.set({ cores: cores ?? "", ram: ram ?? "", disk: disk ?? "" });
    onChange();
    announce([text, countText()].filter(Boolean).join(" "));
  }

  function countText() {
    const values = { count: formatNumber(matches().length), total: formatNumber(flavors.length) };
    return t(activeCount() > 0 ? "flavors.count.filtered" : "flavors.count", values);
  }

  function activeCount() {
    return [cores !== null, ram !== null, disk !== null, search !== ""].filter(Boolean).length;
  }

  function renderToggle() {
    const count = activeCount();
    replace(toggle, count > 0 ? t("flavors.filters.active", { count: formatNumber(count) }) : t("flavors.filters"));
  }

  function setOpen(isOpen) {
    toggle.setAttribute("aria-expanded", String(isOpen));
    element.classList.toggle("is-shown", isOpen);
  }

  function renderCores() {
    const format = (each) => (each === null ? t("flavors.any") : formatNumber(each));
    const options = { values: [null, ...configs.vcpus], format, selected: cores, onSelect: selectCores };
    replace(coresPlace, chips({ legend: t("flavors.cores"), name: "cores", ...options }));
  }

  function renderRam() {
    const format = (each) => (each === null ? t("flavors.any") : formatSize(each, units.ram));
    const options = { values: [null, ...ramSizes()], format, selected: ram, onSelect: selectRam };
    const legend = cores === null ? t("flavor.ram") : t("flavors.ram_with", { cores: coresText(cores) });
    replace(ramPlace, chips({ legend, name: "ram", ...options }));
  }

  function renderDisk() {
    const id = newId("disk");
    const option = (value, label) => h("option", { value: value ?? "", selected: value === disk }, label);
    const select = h("select", { id }, option(null, t("flavors.any")), disks().map((each) => option(each, diskText(each))));
    select.addEventListener("change", () => selectDisk(select.value === "" ? null : Number(select.value)));
    replace(diskPlace, h("label", { for: id }, t("flavor.disk")), select);
  }

  function diskText(value) {
    return value === 0 ? t("flavor.no_disk") : formatSize(value, units.disk);
  }

  // The number of results is announced after a pause in typing, not at each key.
  function handleInput() {
    search = input.value.trim();
    onChange();
    clearTimeout(timer);
    timer = setTimeout(() => {
      // After navigating away, the URL belongs to another page.
      if (!input.isConnected) return;
      state.set({ search });
      announce(countText());
    }, DEBOUNCE_MS);
  }

  function renderAll() {
    renderCores();
    renderRam();
    renderDisk();
  }

  function reset() {
    clearTimeout(timer);
    cores = ram = disk = null;
    search = input.value = "";
    renderAll();
    state.set({ search });
    update(null);
    const first = coresPlace.querySelector("input");
    (first.checkVisibility() ? first : toggle).focus();
  }

  const inputId = newId("search");
  const verbatim = { autocomplete: "off", autocapitalize: "none", spellcheck: "false" };
  const input = h("input", { type: "search", id: inputId, value: search, oninput: handleInput, ...verbatim });
  renderAll();
  const searchField = h("div", { class: "filter-search" }, h("label", { for: inputId }, t("flavors.search")), input);
  const id = newId("filters");
  const element = h("div", { class: "filters", id }, coresPlace, h("div", {}, ramPlace, warningText), searchField, diskPlace);
  const onclick = () => setOpen(toggle.getAttribute("aria-expanded") === "false");
  const toggle = h("button", { type: "button", class: "filters-toggle", "aria-controls": id, onclick });
  setOpen(false);
  return { element, toggle, matches, activeCount, countText, renderToggle, reset };
}
