// Content that the reader can open. `opened` is a set of names, which a panel keeps when it renders its content again.

import { h } from "../core/dom.js";

export function disclosure(opened, name, summary, ...content) {
  const remember = ({ target }) => setOpened(opened, name, target.open);
  const attributes = { class: name, open: opened.has(name), ontoggle: remember };
  return h("details", attributes, h("summary", {}, summary), content);
}

export function setOpened(opened, name, isOpen) {
  if (isOpen) opened.add(name);
  else opened.delete(name);
}
