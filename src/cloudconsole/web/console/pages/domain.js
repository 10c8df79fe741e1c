// The domains page: the list of the tenant's domains, and the details of the one whose ID is in the URL. Consoles
// without GetDomains have a lookup by ID instead of the list.

import { commandsButton } from "../components/commands.js";
import { h } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { panel } from "../core/panel.js";
import { call, serviceInfo } from "../core/session.js";
import { domainPanel } from "./domain/detail_panel.js";
import { PAGE_SIZE, domainList } from "./domain/list.js";
import { lookup } from "./domain/lookup.js";

export const page = { path: "domain", title: "nav.domain", render };

// Whether the console has GetDomains; null until known.
let hasList = null;

function render(route) {
  const domainId = route.parameter.trim();
  const head = h("header", { class: "page-head domain-head" }, h("h1", {}, t("nav.domain")));
  // Without a request, so that a change of the language keeps the typed ID.
  if (hasList === false) return [head, lookup(domainId, route)];
  const content = panel({
    name: "domains",
    load: async () => {
      const { extensions } = await serviceInfo();
      hasList = extensions?.includes("GetDomains") ?? false;
      return hasList && domainId === "" ? call("GetDomains", { limit: PAGE_SIZE }) : null;
    },
    render: (firstPage) => {
      if (firstPage) {
        head.append(listCommands());
        return domainList(firstPage, route);
      }
      return hasList ? domainPanel(domainId, head) : lookup(domainId, route);
    },
  });
  return [head, content];
}

function listCommands() {
  const request = { action: "GetDomains", fields: { limit: PAGE_SIZE }, cli: ["domains"] };
  return commandsButton(t("nav.domain"), () => request);
}
