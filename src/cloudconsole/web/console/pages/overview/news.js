// The provider's news, newest first as they come: a few, and all of them on request.

import { h, outside } from "../../core/dom.js";
import { locale, t } from "../../core/i18n.js";

const FEW = 5;

export function news(items, timeZone) {
  if (items.length === 0) return h("p", { class: "nothing" }, t("news.nothing"));
  const rest = items.slice(FEW).map((item) => shown(item, true));
  const list = h("ul", { class: "news-list" }, items.slice(0, FEW).map((item) => shown(item, false)), rest);
  return [
    list,
    h(
      "p",
      { class: "news-foot" },
      rest.length > 0 && moreButton(rest, items.length),
      h("span", { class: "quiet" }, t("news.zone", { zone: timeZone })),
    ),
  ];
}

function shown({ date, url, title }, isHidden) {
  const time = h("time", { datetime: date.replace(" ", "T"), title: date }, inWords(date));
  return h("li", { hidden: isHidden }, time, outside(url, h("bdi", {}, title)));
}

function moreButton(rest, count) {
  const words = (isOpen) => (isOpen ? t("news.fewer") : t("news.all", { count }));
  const button = h("button", { type: "button", "aria-expanded": "false" }, words(false));
  button.addEventListener("click", () => {
    const isOpen = button.getAttribute("aria-expanded") === "false";
    button.setAttribute("aria-expanded", String(isOpen));
    button.textContent = words(isOpen);
    for (const item of rest) item.hidden = !isOpen;
  });
  return button;
}

// The date is in the operator's zone already: it is only written out, never moved to the reader's.
function inWords(date) {
  const moment = new Date(`${date.replace(" ", "T")}Z`);
  if (Number.isNaN(moment.getTime())) return date;
  const form = { dateStyle: "medium", timeStyle: "short", hourCycle: "h23", timeZone: "UTC" };
  return new Intl.DateTimeFormat(locale(), form).format(moment);
}
