// The form of a new resource: show the sizes of the chosen kind, fill in those of a flavor, and show the quotas of
// the chosen tenant.

import { suggest } from "./suggestions.js";

const kind = document.querySelector("select[data-sizes]");
const sizes = kind && JSON.parse(kind.dataset.sizes);
const field = (name) => document.querySelector(`input[name=${name}]`);
const all = sizes ? [...new Set(Object.values(sizes).flat())] : [];

function show() {
  for (const name of all) {
    const input = field(name);
    // One with a value stays visible: it may be the reason of a rejection.
    input.closest(".field").hidden = Boolean(kind.value) && !sizes[kind.value].includes(name) && !input.value;
  }
  if (flavor) flavor.hidden = !sizes[kind.value]?.includes("vcpus");
}

function flavorField(template) {
  const box = template.content.firstElementChild.cloneNode(true);
  const input = box.querySelector("input");
  let known = [];
  const fill = () => {
    const chosen = known.find(({ name }) => name === input.value);
    if (chosen) for (const name of ["vcpus", "ram", "disk"]) field(name).value = chosen[name];
  };
  suggest(input, "flavor", {
    isEnabled: true,
    found: (results) => {
      known = results;
      fill();
    },
  });
  input.addEventListener("input", fill);
  field("vcpus").closest(".field").before(box);
  return box;
}

const template = document.querySelector("template#flavor-field");
const flavor = kind && template ? flavorField(template) : null;
if (kind) {
  kind.addEventListener("change", show);
  show();
}

const tenant = field("tenant");
let shown = tenant?.value;
tenant?.addEventListener("change", () => {
  if (tenant.value === shown) return;
  shown = tenant.value;
  const request = new XMLHttpRequest();
  request.open("GET", `/admin/resource/add/?${new URLSearchParams({ tenant: shown })}`);
  // Unlike fetch, it parses the page.
  request.responseType = "document";
  request.addEventListener("load", () => {
    // A later choice has a request of its own.
    if (request.status === 200 && tenant.value === shown) showPanel(request.response?.querySelector(".form-panel"));
  });
  request.send();
});

function showPanel(panel) {
  document.querySelector(".form-panel")?.remove();
  if (panel) document.querySelector(".with-panel").append(panel);
}
