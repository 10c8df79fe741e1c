// A button that copies text to the clipboard and confirms it.

import { h, replace } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { announce } from "./announce.js";

const CONFIRMATION_MS = 2500;

// `name` describes the text to screen readers; `source` is the element that shows it.
export function copyButton(text, name, source) {
  const label = h("span", {}, t("copy.button"));
  const hiddenName = h("span", { class: "visually-hidden" }, ` ${name}`);
  const button = h("button", { type: "button", class: "copy-button" }, label, hiddenName);
  let timer = null;

  button.addEventListener("click", async () => {
    const isCopied = (await copyWithClipboardApi(text)) || copyWithExecCommand(text, button);
    if (!isCopied) select(source);
    button.classList.toggle("copied", isCopied);
    replace(label, t(isCopied ? "copy.copied" : "copy.selected"));
    announce(isCopied ? t("copy.copied_name", { name }) : t("copy.selected"));
    clearTimeout(timer);
    timer = setTimeout(() => {
      button.classList.remove("copied");
      replace(label, t("copy.button"));
    }, CONFIRMATION_MS);
  });
  return button;
}

// Available only in secure contexts, and users may deny it.
async function copyWithClipboardApi(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

// The deprecated API also works on plain-http pages.
function copyWithExecCommand(text, button) {
  const field = h("textarea", { class: "visually-hidden", readonly: true, "aria-hidden": "true", tabindex: "-1" });
  field.value = text;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  button.focus();
  return isCopied;
}

function select(element) {
  getSelection().selectAllChildren(element);
}
