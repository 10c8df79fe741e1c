// News in the API's order, newest first: a few items, and all of them on request.

import { setOpened } from "../../components/disclosure.js";
import { externalLink, h } from "../../core/dom.js";
import { t } from "../../core/i18n.js";
import { formatTime } from "../../core/time.js";

const INITIAL_COUNT = 5;

export function news(items, opened) {
  if (items.length === 0) return h("p", { class: "empty" }, t("news.empty"));
  const [first, rest] = [items.slice(0, INITIAL_COUNT), items.slice(INITIAL_COUNT)].map((each) => each.map(newsItem));
  return [
    h("ul", { class: "news-list" }, first, rest),
    rest.length > 0 && h("p", { class: "news-foot" }, moreButton(rest, items.length, opened)),
  ];
}

function newsItem({ date, url, title }) {
  const time = h("time", { datetime: date.replace(" ", "T"), title: date }, formatTime(date));
  return h("li", {}, time, externalLink(url, h("bdi", {}, title)));
}

function moreButton(rest, count, opened) {
  const button = h("button", { type: "button", onclick: () => show(!opened.has("all-news")) });
  const show = (isOpen) => {
    setOpened(opened, "all-news", isOpen);
    button.setAttribute("aria-expanded", String(isOpen));
    button.textContent = isOpen ? t("news.fewer") : t("news.all", { count });
    for (const item of rest) item.hidden = !isOpen;
  };
  show(opened.has("all-news"));
  return button;
}
