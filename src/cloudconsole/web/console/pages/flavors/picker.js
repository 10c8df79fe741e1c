// First the cores, then the RAM that goes with them, then what there is of that.
// RAM that does not go with the cores is not offered at all: the list stays short, and all that is seen can be had.

import { h, newId, replace } from "../../core/dom.js";
import { size } from "../../core/numbers.js";
import { number, t } from "../../core/i18n.js";
import { announce } from "../../components/announce.js";
import { chips } from "./chips.js";
import { flavorTable } from "./table.js";

export function picker({ flavors, configs, limits }, units, choice) {
  const id = newId("picker");
  const steps = h("div", { class: "picker-steps" });
  const found = h("div", { class: "picker-found" });
  const allowed = (cores) => (Object.hasOwn(limits, String(cores)) ? limits[String(cores)] : []);
  let cores = configs.vcpus.find((each) => String(each) === choice.get("cores")) ?? null;
  let ram = allowed(cores).find((each) => String(each) === choice.get("ram")) ?? null;

  function takeCores(value) {
    const before = ram;
    cores = value;
    if (!allowed(cores).includes(ram)) ram = null;
    const isLost = before !== null && ram === null && cores !== null;
    settle(isLost ? t("flavors.lost", { ram: size(before, units.ram), cores: inWords(cores) }) : null);
  }

  function takeRam(value) {
    ram = value;
    settle(null);
  }

  function settle(lost) {
    choice.set({ cores: cores ?? "", ram: ram ?? "" });
    draw(lost);
    announce([lost, cores === null ? null : counted(matching())].filter(Boolean).join(" "));
  }

  function matching() {
    const sizes = ram === null ? allowed(cores) : [ram];
    return flavors.filter((each) => each.vcpus === cores && sizes.includes(each.ram));
  }

  function draw(lost) {
    const focus = steps.contains(document.activeElement) ? document.activeElement.id : null;
    replace(steps, coresStep(), h("div", {}, cores === null ? coresFirst() : ramStep(), lost && told(lost)));
    if (focus) document.getElementById(focus)?.focus();
    replace(found, cores !== null && result());
  }

  function coresStep() {
    const values = { values: configs.vcpus, written: number, chosen: cores, choose: takeCores };
    return chips({ legend: t("flavors.cores"), name: "cores", ...values });
  }

  function ramStep() {
    const written = (each) => size(each, units.ram);
    const values = { values: allowed(cores), written, chosen: ram, choose: takeRam };
    return chips({ legend: t("flavors.ram_with", { cores: inWords(cores) }), name: "ram", ...values });
  }

  function result() {
    const rows = matching();
    const title = ram === null
      ? t("flavors.match.cores", { cores: inWords(cores) })
      : t("flavors.match.both", { cores: inWords(cores), ram: size(ram, units.ram) });
    return [
      h(
        "div",
        { class: "found-head" },
        h("div", {}, h("h3", {}, title), h("span", { class: "quiet" }, counted(rows))),
        h("button", { type: "button", onclick: startOver }, t("flavors.again")),
      ),
      rows.length === 0
        ? h("p", { class: "nothing" }, t("flavors.no_match"))
        : flavorTable(rows, units, { caption: title, isCopied: true }),
    ];
  }

  function startOver() {
    cores = ram = null;
    settle(null);
    steps.querySelector("input")?.focus();
  }

  draw(null);
  return h(
    "section",
    { class: "card picker", "aria-labelledby": id },
    h("h2", { id }, t("flavors.pick")),
    configs.vcpus.length === 0 ? h("p", { class: "nothing" }, t("flavors.nothing")) : [steps, found],
  );
}

function inWords(cores) {
  return cores === 1 ? t("flavors.core") : t("flavors.n_cores", { count: number(cores) });
}

function counted(rows) {
  return t("flavors.found", { count: number(rows.length) });
}

function coresFirst() {
  return h("p", { class: "quiet" }, t("flavors.cores_first"));
}

function told(lost) {
  return h("p", { class: "lost" }, lost);
}
