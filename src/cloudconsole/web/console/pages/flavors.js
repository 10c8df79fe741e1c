// Flavors: a picker that offers only what goes together, and a table of all.

import { h } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { panel } from "../core/panel.js";
import { call, consoleFacts } from "../core/session.js";
import { asked } from "../components/url_state.js";
import { allFlavors } from "./flavors/list.js";
import { picker } from "./flavors/picker.js";

export const page = { path: "flavors", title: "nav.flavors", show };

function show(place) {
  const choice = asked(place);
  const offered = panel({
    kind: "flavors",
    load: () => Promise.all([call("GetFlavors"), consoleFacts()]),
    show: ([offer, { units }]) => [picker(offer, units, choice), allFlavors(offer, units, choice)],
  });
  return [h("h1", {}, t("nav.flavors")), offered];
}
