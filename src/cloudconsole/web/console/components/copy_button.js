// A button that copies a text, and says that it has.

import { h, replace } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { announce } from "./announce.js";

const SHOWN_MS = 2500;

// `what` names the text to those who only hear the button; `shown` is the element that holds it on the page.
export function copyButton(text, what, shown) {
  const words = h("span", {}, t("copy.do"));
  const named = h("span", { class: "visually-hidden" }, ` ${what}`);
  const button = h("button", { type: "button", class: "copy" }, words, named);
  let last = null;

  button.addEventListener("click", async () => {
    const isDone = (await copyNew(text)) || copyOld(text, button);
    if (!isDone) select(shown);
    const told = isDone ? "copy.done" : "copy.selected";
    button.classList.toggle("done", isDone);
    replace(words, t(told));
    announce(isDone ? t("copy.done.what", { what }) : t("copy.selected"));
    clearTimeout(last);
    last = setTimeout(() => {
      button.classList.remove("done");
      replace(words, t("copy.do"));
    }, SHOWN_MS);
  });
  return button;
}

// Only pages that came by https or from this machine have a clipboard, and people may forbid it.
async function copyNew(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

// The older way works elsewhere, too: from a field that nobody sees.
function copyOld(text, button) {
  const field = h("textarea", { class: "visually-hidden", readonly: true, "aria-hidden": "true", tabindex: "-1" });
  field.value = text;
  document.body.append(field);
  field.select();
  const isDone = document.execCommand("copy");
  field.remove();
  button.focus();
  return isDone;
}

function select(shown) {
  getSelection().selectAllChildren(shown);
}
