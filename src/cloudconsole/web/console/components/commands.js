// A button that shows how to get the same data with curl, Python and the CLI, as commands for this console and account.
// Passwords are never included: the commands ask for them.

import { h, newId } from "../core/dom.js";
import { formatNumber, t } from "../core/i18n.js";
import { account } from "../core/session.js";
import { copyButton } from "./copy_button.js";

const INDENT = "    ";
// Characters in a line of a value.
const LINE = 76;
const INSTALL = "pip install ./cloudconsole-*.whl";

// `title` names the data, `request` returns how to get it now: {action, fields, cli}. `cli` is the command's name and
// arguments; without it, `call` is used.
export function commandsButton(title, request) {
  const attributes = { type: "button", class: "plain commands-button", "aria-haspopup": "dialog" };
  const hiddenName = h("span", { class: "visually-hidden" }, ` ${t("commands.button", { title })}`);
  const button = h("button", attributes, h("span", { "aria-hidden": "true" }, "</>"), t("commands.label"), hiddenName);
  button.title = t("commands.title");
  button.addEventListener("click", () => open(title, request()));
  return button;
}

// The commands by name.
export function commandsFor({ action, fields = {}, cli = null }) {
  const { username, region } = account();
  const target = { base: location.origin, username, region };
  return {
    curl: curlCommand(target, formatted({ action, ...fields }, JSON.stringify)),
    Python: pythonCommand(target, action, fields),
    CLI: cliCommand(target, cli ?? ["call", action, ...cliFields(fields)]),
  };
}

function open(title, request) {
  const id = newId("commands");
  const close = h("button", { type: "button", onclick: () => dialog.close() }, t("commands.close"));
  const content = h(
    "div",
    {},
    h("header", { class: "panel-head" }, h("h2", { id }, t("commands.heading", { title })), close),
    h("p", { class: "muted" }, t("commands.password")),
    request.fields?.limit && h("p", { class: "muted" }, t("commands.pages", { count: formatNumber(request.fields.limit) })),
    h("p", { class: "muted" }, t("commands.install"), " ", h("code", {}, INSTALL)),
    Object.entries(commandsFor(request)).map(([name, text]) => block(name, text)),
  );
  const dialog = h("dialog", { class: "commands", "aria-labelledby": id }, content);
  // The browser returns the focus to the button.
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.querySelector("main").append(dialog);
  dialog.showModal();
}

function block(name, text) {
  const code = h("code", { class: "command-text" }, text);
  const pre = h("pre", { class: "scroll", tabindex: "0", role: "group", "aria-label": name }, code);
  return h(
    "section",
    { class: "command", "data-command": name },
    h("header", { class: "panel-head" }, h("h3", {}, name), copyButton(text, name, code)),
    pre,
  );
}

// In parentheses, so that a shell reads all of it before it runs the first line, which asks for the password, and that
// `exit` after a failed login leaves only them.
function curlCommand({ base, username, region }, body) {
  const field = (name, value) => `--data-urlencode ${quoted(`${name}=${value}`)}`;
  return `(
base=${quoted(base)}; jar=$(mktemp); trap 'rm -f "$jar"' EXIT
printf '%s ' ${quoted(`Password of ${username}:`)} >&2
stty -echo 2>/dev/null; IFS= read -r password; stty echo 2>/dev/null; echo >&2
curl -sS -c "$jar" "$base/api/" >/dev/null
token=$(awk '$6 == "csrftoken" {print $7}' "$jar")
login=$(printf %s "$password" | curl -sS --fail-with-body -b "$jar" -c "$jar" "$base/auth/login/" \\
  --data-urlencode "csrfmiddlewaretoken=$token" --data-urlencode password@- \\
  ${field("username", username)} ${field("region", region)}) ||
  { printf '%s\\n' "$login" >&2; exit 1; }
curl -sS -b "$jar" "$base/api/" -H "X-CSRFToken: $token" -H 'Content-Type: application/json' \\
  -d ${quoted(body)}; echo
curl -sS -b "$jar" -H "X-CSRFToken: $token" -X POST "$base/auth/logout/" >/dev/null
)`;
}

function pythonCommand({ base, username, region }, action, fields) {
  const text = (value) => JSON.stringify(value);
  const given = Object.entries(fields).map(([name, value]) => `, ${name}=${formatted(value, pythonValue, INDENT)}`);
  return `from getpass import getpass
from pprint import pprint

from cloudconsole import Console

with Console(
    ${text(base)},
    region=${text(region)},
    username=${text(username)},
    password=getpass(),
) as console:
    pprint(console.call(${text(action)}${given.join("")}))
    console.logout()`;
}

function pythonValue(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  return JSON.stringify(value);
}

// A value as JSON or Python, of which `leaf` formats the parts. What is too long for a line is broken.
function formatted(value, leaf, indent = "", width = LINE) {
  if (value === null || typeof value !== "object") return leaf(value);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const parts = (deeper, rest) =>
    Object.entries(value).map(([name, each]) => {
      const label = Array.isArray(value) ? "" : `${JSON.stringify(name)}: `;
      return label + formatted(each, leaf, deeper, rest - label.length);
    });
  const flat = `${open}${parts("", Infinity).join(", ")}${close}`;
  if (indent.length + flat.length <= width) return flat;
  const deeper = indent + INDENT;
  return `${open}\n${deeper}${parts(deeper, width).join(`,\n${deeper}`)}\n${indent}${close}`;
}

function cliCommand({ base, username, region }, words) {
  const flags = { url: base, region, username };
  const given = Object.entries(flags).map(([name, value]) => `--${name}=${quoted(value)}`);
  return `cloudconsole ${words.map(quoted).join(" ")} \\\n  ${given.join(" \\\n  ")}`;
}

function cliFields(fields) {
  return Object.entries(fields).map(([name, value]) =>
    typeof value === "string" ? `${name}=${value}` : `${name}:=${formatted(value, JSON.stringify)}`,
  );
}

// A word for POSIX shells.
function quoted(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
