// A field of the sign-in form: label, input and error message.

import { h, newId, replace } from "../core/dom.js";
import { t } from "../core/i18n.js";

// Returns {name, element, input, error, button}; `makeButton` creates the optional button next to the input.
export function field(name, input, makeButton) {
  const id = newId(name);
  const error = h("p", { class: "error", id: newId("error"), hidden: true });
  Object.assign(input, { id, name });
  const button = makeButton?.(input);
  const control = button ? h("div", { class: "input-with-button" }, input, button) : input;
  const element = h("div", { class: "field" }, h("label", { for: id }, t(`signin.${name}`)), control, error);
  input.addEventListener("input", () => showError({ input, error }, null));
  return { name, element, input, error, button };
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

// A button that toggles the visibility of a password.
export function visibilityButton(input) {
  const button = h("button", { type: "button", onclick: () => setVisible(input.type === "password") });
  function setVisible(isVisible) {
    input.type = isVisible ? "text" : "password";
    button.setAttribute("aria-label", t(isVisible ? "signin.hide.password" : "signin.show.password"));
    replace(button, t(isVisible ? "signin.hide" : "signin.show"));
  }
  button.hidePassword = () => setVisible(false);
  button.hidePassword();
  return button;
}
