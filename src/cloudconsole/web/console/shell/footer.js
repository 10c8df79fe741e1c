// The page footer: links for developers; on paper, whose page it is and when it was printed.

import { h, replace } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { account, serviceInfo } from "../core/session.js";
import { formatMoment } from "../core/time.js";

const printTime = h("p", {});
let timeZone = null;

export function renderFooter(footer) {
  const signedIn = account();
  // Known before the page is printed, because there is no time to wait then.
  if (signedIn) serviceInfo().then((info) => (timeZone = info.timeZone), () => {});
  replace(
    footer,
    h(
      "p",
      { class: "screen-only" },
      h("span", {}, t("footer.developers")),
      h("a", { href: "/docs/" }, t("footer.reference")),
      h("a", { href: "/openapi.json", class: "muted" }, t("footer.openapi")),
    ),
    signedIn && h("div", { class: "print-only" }, h("p", {}, t("footer.account", signedIn)), printTime),
  );
}

addEventListener("beforeprint", () => {
  replace(printTime, timeZone && t("footer.printed", { time: formatMoment(new Date(), timeZone) }));
});
