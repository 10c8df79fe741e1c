// Every field of a domain, with what it means.

import { h, newId } from "../../core/dom.js";
import { t } from "../../core/i18n.js";
import { copyButton } from "../../components/copy_button.js";
import { isEmpty, tree } from "./json_tree.js";

export function domainDetail(domain) {
  return [
    h("h2", { class: "domain-name" }, h("bdi", {}, domain.domainName)),
    pointing(domain),
    h("div", { class: "domain-parts" }, parts(domain, domain.originConfig ?? {})),
  ];
}

function parts(domain, origin) {
  return [
    card("domain.about", [
      term("domainId", text(domain.domainId)),
      term("domainName", text(domain.domainName)),
      term("enabled", enabled(domain.enabled)),
      term("status", text(domain.status)),
      term("serviceType", text(domain.serviceType)),
      term("serviceAreas", areas(domain.serviceAreas)),
      term("comment", text(domain.comment)),
    ]),
    card("domain.origin", [
      term("originIps", list(origin.originIps)),
      term("originDomainName", text(origin.originDomainName)),
      term("queryStringSettings", text(domain.queryStringSettings)),
    ]),
    structured("advOriginConfigs", origin.advOriginConfigs),
    structured("cacheBehaviors", domain.cacheBehaviors),
    structured("visitControlRules", domain.visitControlRules),
  ];
}

// The one thing that a tenant has to do: the CNAME, and where it goes.
function pointing({ cname, domainName }) {
  const id = newId("cname");
  const name = h("code", {}, h("bdi", {}, cname));
  return h(
    "section",
    { class: "card cname", "aria-labelledby": id, "data-field": "cname" },
    h("h3", { id }, t("domain.cname")),
    isEmpty(cname) ? none() : h("p", { class: "cname-row" }, name, copyButton(cname, cname, name)),
    h("p", { class: "hint" }, t("domain.cname.do", { name: domainName })),
  );
}

function card(title, terms) {
  const id = newId("card");
  return h("section", { class: "card", "aria-labelledby": id }, h("h3", { id }, t(title)),
    h("dl", { class: "fields" }, terms));
}

function term(field, value) {
  return h(
    "div",
    { "data-field": field },
    h("dt", {}, t(`domain.${field}`)),
    h("dd", {}, h("div", { class: "value" }, value), h("p", { class: "hint" }, t(`domain.${field}.means`))),
  );
}

function structured(field, value) {
  const id = newId("part");
  return h(
    "section",
    { class: "card structured", "aria-labelledby": id, "data-field": field },
    h("h3", { id }, t(`domain.${field}`)),
    h("p", { class: "hint" }, t(`domain.${field}.means`)),
    isEmpty(value) ? none() : tree(value),
  );
}

// Anything but text is shown as what it is: a cloud may have put a structure where a text is usual.
function text(value) {
  if (isEmpty(value)) return none();
  return typeof value === "string" ? h("bdi", {}, value) : tree(value);
}

function list(values) {
  if (isEmpty(values)) return none();
  return h("ul", { class: "plain-list" }, values.map((each) => h("li", {}, text(each))));
}

// Codes stay codes: which there are, and what each means, is the provider's to say.
function areas(codes) {
  const each = String(codes ?? "").split(";").map((code) => code.trim()).filter(Boolean);
  if (each.length === 0) return none();
  return h("ul", { class: "tags" }, each.map((code) => h("li", { class: "badge" }, h("bdi", {}, code))));
}

function enabled(value) {
  const isOn = String(value) === "true";
  return h("span", { class: `badge ${isOn ? "good" : "warn"}` }, isOn ? `✓ ${t("domain.yes")}` : `✕ ${t("domain.no")}`);
}

function none() {
  return h("span", { class: "quiet" }, t("domain.none"));
}
