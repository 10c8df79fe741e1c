// Build DOM elements from text and other elements. No function here parses a string as HTML.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

// Create an element: h("button", {class: "plain", onclick: save, disabled: true}, "Save").
// Attributes and children that are false, null or undefined are skipped; children may be nested arrays.
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);
}

export function replace(element, ...children) {
  element.replaceChildren(...flatten(children));
}

// A link to a URL that an operator entered. Anything but http(s) is rendered as plain text.
export function externalLink(url, ...children) {
  if (!/^https?:\/\//i.test(url)) return h("span", {}, ...children);
  return h("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, ...children);
}

let lastId = 0;

// A unique element id, for labels and descriptions.
export function newId(prefix) {
  lastId += 1;
  return `${prefix}-${lastId}`;
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...flatten(children));
  return element;
}

function flatten(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}
