// News in the API's order, newest first: a few items, and all of them on request.

import { externalLink, h } from "../../core/dom.js";
import { locale, t } from "../../core/i18n.js";

const INITIAL_COUNT = 5;

export function news(items, timeZone) {
  if (items.length === 0) return h("p", { class: "empty" }, t("news.empty"));
  const rest = items.slice(INITIAL_COUNT).map((item) => newsItem(item, true));
  const first = items.slice(0, INITIAL_COUNT).map((item) => newsItem(item, false));
  return [
    h("ul", { class: "news-list" }, first, rest),
    h(
      "p",
      { class: "news-foot" },
      rest.length > 0 && moreButton(rest, items.length),
      h("span", { class: "muted" }, t("news.zone", { zone: timeZone })),
    ),
  ];
}

function newsItem({ date, url, title }, isHidden) {
  const time = h("time", { datetime: date.replace(" ", "T"), title: date }, formatDate(date));
  return h("li", { hidden: isHidden }, time, externalLink(url, h("bdi", {}, title)));
}

function moreButton(rest, count) {
  const label = (isOpen) => (isOpen ? t("news.fewer") : t("news.all", { count }));
  const button = h("button", { type: "button", "aria-expanded": "false" }, label(false));
  button.addEventListener("click", () => {
    const isOpen = button.getAttribute("aria-expanded") === "false";
    button.setAttribute("aria-expanded", String(isOpen));
    button.textContent = label(isOpen);
    for (const item of rest) item.hidden = !isOpen;
  });
  return button;
}

// Dates are already in the console's time zone: format them without conversion.
function formatDate(date) {
  const moment = new Date(`${date.replace(" ", "T")}Z`);
  if (Number.isNaN(moment.getTime())) return date;
  const options = { dateStyle: "medium", timeStyle: "short", hourCycle: "h23", timeZone: "UTC" };
  return new Intl.DateTimeFormat(locale(), options).format(moment);
}
