// Elements made of text and other elements: nothing here can turn a string into markup.

const SVG = "http://www.w3.org/2000/svg";

// h("button", {class: "plain", onclick: save, disabled: true}, "Save"): an element.
// Attributes that are false, null or undefined are left out; children may be nested lists, and such ones are, too.
export function h(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

export function replace(element, ...children) {
  element.replaceChildren(...nodes(children));
}

// A link to an address that an operator wrote: one that is not of the web is shown as text.
export function outside(address, ...children) {
  if (!/^https?:\/\//i.test(address)) return h("span", {}, ...children);
  return h("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, ...children);
}

let lastId = 0;

// An id that no other element has, to tie labels and descriptions by.
export function newId(name) {
  lastId += 1;
  return `${name}-${lastId}`;
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...nodes(children));
  return element;
}

function nodes(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}
