// News, newest first after what is pinned: a few items, and all of them on request. Those in the other language are
// behind a link.

import { disclosure, setOpened } from "../../components/disclosure.js";
import { byLanguage } from "../../core/announcements.js";
import { externalLink, h } from "../../core/dom.js";
import { t } from "../../core/i18n.js";
import { formatDate } from "../../core/time.js";
import { visit } from "./news_visits.js";

const INITIAL_COUNT = 5;

export function news(items, opened) {
  if (items.length === 0) return h("p", { class: "empty" }, t("news.empty"));
  const isNew = visit(items);
  const [own, others] = byLanguage(items);
  const ordered = [...own.filter((item) => item.pinned), ...own.filter((item) => !item.pinned)];
  const elements = ordered.map((item) => newsItem(item, isNew(item)));
  const rest = elements.slice(INITIAL_COUNT);
  const otherList = () => h("ul", { class: "news-list" }, others.map((item) => newsItem(item, isNew(item))));
  if (own.length === 0) return [h("p", { class: "empty" }, othersText(others)), otherList()];
  return [
    h("ul", { class: "news-list" }, elements),
    rest.length > 0 && h("p", { class: "news-foot" }, moreButton(rest, own.length, opened)),
    others.length > 0 && disclosure(opened, "news-others", othersText(others), otherList()),
  ];
}

function newsItem({ date, url, title, language, pinned }, isNew) {
  const time = h("time", { datetime: date.replace(" ", "T"), title: date }, formatDate(date));
  return h(
    "li",
    {},
    h(
      "p",
      { class: "news-head" },
      time,
      pinned && h("span", { class: "badge warning" }, t("news.pinned")),
      isNew && h("span", { class: "badge success" }, t("news.new")),
    ),
    externalLink(url, h("bdi", { lang: language }, title)),
  );
}

function othersText({ length }) {
  return length === 1 ? t("news.others.one") : t("news.others", { count: length });
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
