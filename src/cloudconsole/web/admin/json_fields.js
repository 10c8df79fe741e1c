// JSON text areas: check the syntax while typing, and format on request. The server validates everything again.

import { t } from "./json_messages.js";
import { findSyntaxError } from "./json_syntax.js";

const DEBOUNCE_MS = 300;

for (const field of document.querySelectorAll("textarea[data-json]")) enhance(field);

function enhance(field) {
  const error = document.createElement("span");
  error.className = "error";
  error.id = `${field.id}-syntax-error`;
  error.setAttribute("role", "status");
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = t("format");
  const hiddenName = document.createElement("span");
  hiddenName.className = "visually-hidden";
  hiddenName.textContent = ` ${field.labels[0].textContent}`;
  button.append(hiddenName);
  const tools = document.createElement("div");
  tools.className = "json-tools";
  tools.append(button, error);
  field.after(tools);
  field.setAttribute("aria-describedby", `${field.getAttribute("aria-describedby") ?? ""} ${error.id}`.trim());

  const check = () => {
    const message = field.value.trim() === "" ? null : errorMessage(field);
    error.textContent = message ?? "";
    if (message) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
    return message;
  };
  let timer;
  field.addEventListener("input", () => {
    removeServerError(field);
    clearTimeout(timer);
    timer = setTimeout(check, DEBOUNCE_MS);
  });
  button.addEventListener("click", () => {
    if (!check() && field.value.trim() !== "") field.value = format(field.value);
    field.focus();
  });
}

function errorMessage(field) {
  const error = findSyntaxError(field.value);
  if (error) return t("position", error);
  return field.dataset.json === "list" && !field.value.trim().startsWith("[") ? t("must_be_list") : null;
}

// The server's error is about the submitted text; remove it once the text changes.
function removeServerError(field) {
  document.getElementById(`${field.id}-problem`)?.remove();
  const ids = field.getAttribute("aria-describedby").split(" ").filter((id) => id !== `${field.id}-problem`);
  field.setAttribute("aria-describedby", ids.join(" "));
}

// Format token by token: JSON.parse would change the notation of numbers.
function format(text) {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s[\]{}:,"]+/g) ?? [];
  let depth = 0;
  let result = "";
  tokens.forEach((token, index) => {
    const previous = tokens[index - 1];
    if (token === "}" || token === "]") {
      depth -= 1;
      if (previous !== "{" && previous !== "[") result += newline(depth);
    } else if (previous === "{" || previous === "[" || previous === ",") {
      result += newline(depth);
    } else if (previous === ":") {
      result += " ";
    }
    if (token === "{" || token === "[") depth += 1;
    result += token;
  });
  return result;
}

function newline(depth) {
  return `\n${"  ".repeat(depth)}`;
}
