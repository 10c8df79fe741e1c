// A field of the sign-in: its label, what is typed, and what is wrong with it.

import { h, newId, replace } from "../core/dom.js";
import { t } from "../core/i18n.js";

// {name, element, input, error, tool}; `toolFor` makes the button that stands beside the input.
export function field(name, input, toolFor) {
  const id = newId(name);
  const error = h("p", { class: "error", id: newId("error"), hidden: true });
  Object.assign(input, { id, name });
  const tool = toolFor?.(input);
  const line = tool ? h("div", { class: "with-tool" }, input, tool) : input;
  const element = h("div", { class: "field" }, h("label", { for: id }, t(`signin.${name}`)), line, error);
  input.addEventListener("input", () => showError({ input, error }, null));
  return { name, element, input, error, tool };
}

export function showError({ input, error }, message) {
  replace(error, message);
  error.hidden = !message;
  if (message) {
    input.setAttribute("aria-invalid", "true");
    input.setAttribute("aria-describedby", error.id);
  } else {
    input.removeAttribute("aria-invalid");
    input.removeAttribute("aria-describedby");
  }
}

// A button that shows a password for as long as one wants to see it.
export function visibility(input) {
  const button = h("button", { type: "button", onclick: () => show(input.type === "password") });
  function show(isShown) {
    input.type = isShown ? "text" : "password";
    button.setAttribute("aria-label", t(isShown ? "signin.hide.password" : "signin.show.password"));
    replace(button, t(isShown ? "signin.hide" : "signin.show"));
  }
  button.hide = () => show(false);
  button.hide();
  return button;
}
