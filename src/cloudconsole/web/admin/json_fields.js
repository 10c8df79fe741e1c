// Fields for JSON: checked while one types, and put in good order by a button. The server checks all of it again.

import { findMistake } from "./json_syntax.js";

const PAUSE = 300;

for (const field of document.querySelectorAll("textarea[data-json]")) equip(field);

function equip(field) {
  const said = document.createElement("span");
  said.className = "error";
  said.id = `${field.id}-mistake`;
  said.setAttribute("role", "status");
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Format";
  const name = document.createElement("span");
  name.className = "visually-hidden";
  name.textContent = ` ${field.labels[0].textContent}`;
  button.append(name);
  const tools = document.createElement("div");
  tools.className = "json-tools";
  tools.append(button, said);
  field.after(tools);
  field.setAttribute("aria-describedby", `${field.getAttribute("aria-describedby") ?? ""} ${said.id}`.trim());

  const check = () => {
    const mistake = field.value.trim() === "" ? null : wrongWith(field);
    said.textContent = mistake ?? "";
    if (mistake) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
    return mistake;
  };
  let waiting;
  field.addEventListener("input", () => {
    withdraw(field);
    clearTimeout(waiting);
    waiting = setTimeout(check, PAUSE);
  });
  button.addEventListener("click", () => {
    if (!check() && field.value.trim() !== "") field.value = formatted(field.value);
    field.focus();
  });
}

// What is wrong with the text of a field, in words; null where nothing is.
function wrongWith(field) {
  const mistake = findMistake(field.value);
  if (mistake) return `Line ${mistake.line}, column ${mistake.column}: ${mistake.words}`;
  return field.dataset.json === "list" && !field.value.trim().startsWith("[") ? "Must be a list" : null;
}

// What the server said is about a text that was sent, and no longer about the one that stands there.
function withdraw(field) {
  document.getElementById(`${field.id}-problem`)?.remove();
  const told = field.getAttribute("aria-describedby").split(" ").filter((id) => id !== `${field.id}-problem`);
  field.setAttribute("aria-describedby", told.join(" "));
}

// Laid out anew, token by token: numbers stay as they were written, which they would not through JSON.parse.
function formatted(text) {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s[\]{}:,"]+/g) ?? [];
  let depth = 0;
  let result = "";
  tokens.forEach((token, index) => {
    const before = tokens[index - 1];
    if (token === "}" || token === "]") {
      depth -= 1;
      if (before !== "{" && before !== "[") result += newline(depth);
    } else if (before === "{" || before === "[" || before === ",") {
      result += newline(depth);
    } else if (before === ":") {
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
