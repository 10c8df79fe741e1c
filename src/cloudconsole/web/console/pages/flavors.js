// The flavors page: a picker for valid combinations of cores and RAM, and a table of all flavors.

import { urlState } from "../components/url_state.js";
import { h } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { panel } from "../core/panel.js";
import { call, serviceInfo } from "../core/session.js";
import { flavorList } from "./flavors/list.js";
import { picker } from "./flavors/picker.js";

export const page = { path: "flavors", title: "nav.flavors", render };

function render(route) {
  const state = urlState(route);
  const content = panel({
    name: "flavors",
    load: () => Promise.all([call("GetFlavors"), serviceInfo()]),
    render: ([data, { units }]) => [picker(data, units, state), flavorList(data, units, state)],
  });
  return [h("h1", {}, t("nav.flavors")), content];
}
