// All fields of a domain with explanations.

import { commandsButton } from "../../components/commands.js";
import { copyButton } from "../../components/copy_button.js";
import { h, newId } from "../../core/dom.js";
import { t } from "../../core/i18n.js";
import { call } from "../../core/session.js";
import { isEmpty, jsonTree } from "./json_tree.js";
import { valueText } from "./terms.js";

// An error about the ID is returned: it is shown without a retry button.
export async function domainOrIdError(domainId) {
  try {
    return await call("GetDomainDetail", { domainId });
  } catch (error) {
    if (error.field !== "domainId") throw error;
    return error;
  }
}

export function domainCommands({ domainId, domainName }) {
  // An ID that looks like an option is no argument of a command of its own.
  const cli = domainId.startsWith("-") ? null : ["domain", domainId];
  return commandsButton(domainName, () => ({ action: "GetDomainDetail", fields: { domainId }, cli }));
}

export function domainDetail(domain) {
  return [
    cnameCard(domain),
    h("div", { class: "domain-sections" }, sections(domain, domain.originConfig ?? {})),
  ];
}

// A card for each group of fields and for each structure, and one for all that is not configured.
function sections(domain, origin) {
  const { cacheBehaviors, visitControlRules } = domain;
  const groups = {
    "domain.general": {
      domainId: text(domain.domainId),
      domainName: text(domain.domainName),
      enabled: enabledBadge(domain.enabled),
      status: text(valueText("status", domain.status)),
      serviceType: text(valueText("serviceType", domain.serviceType)),
      serviceAreas: serviceAreas(domain.serviceAreas),
      comment: text(domain.comment),
    },
    "domain.origin": {
      originIps: list(origin.originIps),
      originDomainName: text(origin.originDomainName),
      queryStringSettings: text(domain.queryStringSettings),
    },
  };
  const structures = { advOriginConfigs: origin.advOriginConfigs, cacheBehaviors, visitControlRules };
  const helps = { domainName: null, enabled: isEnabled(domain.enabled) ? null : "domain.enabled.disabled" };
  const unset = [];
  const cards = Object.entries(groups).map(([title, values]) => {
    const isSet = (name) => values[name] !== null;
    unset.push(...Object.keys(values).filter((name) => !isSet(name)));
    const names = Object.keys(values).filter(isSet);
    return names.length > 0 && card(title, names.map((name) => field(name, values[name], helps[name])));
  });
  unset.push(...Object.keys(structures).filter((name) => isEmpty(structures[name])));
  return [
    cards,
    Object.entries(structures).filter(([, value]) => !isEmpty(value)).map(([name, value]) => jsonCard(name, value)),
    unset.length > 0 && card("domain.unset", unset.map((name) => field(name, null, helps[name]))),
  ];
}

// The CNAME comes first: setting it is the one step that is up to the tenant. A disabled domain is not served.
function cnameCard({ cname, domainName, enabled }) {
  const id = newId("cname");
  const help = isEnabled(enabled) ? "domain.cname.help" : "domain.cname.disabled";
  const name = h("code", {}, h("bdi", {}, cname));
  const part = (key, ...content) => h("div", {}, h("dt", {}, t(`domain.record.${key}`)), h("dd", {}, content));
  return h(
    "section",
    { class: "card cname", "aria-labelledby": id, "data-field": "cname" },
    h("h2", { id }, t("domain.cname")),
    isEmpty(cname)
      ? h("p", { class: "muted" }, t("domain.none"))
      : [
          h(
            "dl",
            { class: "dns-record" },
            part("name", h("bdi", {}, domainName)),
            part("type", "CNAME"),
            part("value", name, copyButton(cname, cname, name)),
          ),
          h("p", { class: "hint" }, t(help, { name: domainName })),
        ],
  );
}

function card(title, fields) {
  const id = newId("card");
  return h("section", { class: "card", "aria-labelledby": id }, h("h2", { id }, t(title)),
    h("dl", { class: "fields" }, fields));
}

function field(name, value, help = `domain.${name}.help`) {
  return h(
    "div",
    { "data-field": name },
    h("dt", {}, t(`domain.${name}`)),
    h("dd", {}, value && h("div", { class: "value" }, value), help && h("p", { class: "hint" }, t(help))),
  );
}

function jsonCard(name, value) {
  const id = newId("card");
  return h(
    "section",
    { class: "card json-card", "aria-labelledby": id, "data-field": name },
    h("h2", { id }, t(`domain.${name}`)),
    h("p", { class: "hint" }, t(`domain.${name}.help`)),
    jsonTree(value),
  );
}

// The content of a field, or null if it is not configured. Fields that are usually text may hold a structure in some
// clouds.
function text(value) {
  if (isEmpty(value)) return null;
  return typeof value === "string" ? h("bdi", {}, value) : jsonTree(value);
}

function list(values) {
  if (isEmpty(values)) return null;
  return h("ul", { class: "inline-list" }, values.map((each) => h("li", {}, text(each) ?? t("domain.none"))));
}

// Area codes are specific to the provider: only common ones have names.
function serviceAreas(codes) {
  const areas = String(codes ?? "").split(";").map((code) => code.trim()).filter(Boolean);
  if (areas.length === 0) return null;
  return h("ul", { class: "tags" }, areas.map((code) => h("li", { class: "badge", title: code }, h("bdi", {}, valueText("serviceAreas", code)))));
}

export function enabledBadge(value) {
  const isOn = isEnabled(value);
  const label = isOn ? `✓ ${t("domain.is_enabled")}` : `✕ ${t("domain.is_disabled")}`;
  return h("span", { class: `badge ${isOn ? "success" : "warning"}` }, label);
}

// Whether it is enabled and, unless that says the same, its status.
export function stateBadges({ enabled, status }) {
  const text = typeof status === "string" ? valueText("status", status) : "";
  const isSame = !isEnabled(enabled) && status === "Disabled";
  return h(
    "p",
    { class: "row domain-state" },
    enabledBadge(enabled),
    text !== "" && !isSame && h("span", { class: "badge" }, h("bdi", {}, text)),
  );
}

// The API sends text.
function isEnabled(value) {
  return String(value) === "true";
}
