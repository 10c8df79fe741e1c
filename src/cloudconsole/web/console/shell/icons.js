// Decorative icons; the buttons that use them have text labels.

import { svg } from "../core/dom.js";

const PATHS = {
  system: ["M12 3a9 9 0 1 0 0 18z", "M12 3a9 9 0 0 1 0 18"],
  light: [
    "M12 8a4 4 0 1 0 0 8a4 4 0 0 0 0-8z",
    "M12 2v2.5M12 19.5V22M2 12h2.5M19.5 12H22M4.9 4.9l1.8 1.8M17.3 17.3l1.8 1.8M4.9 19.1l1.8-1.8M17.3 6.7l1.8-1.8",
  ],
  dark: ["M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z"],
  menu: ["M4 7h16M4 12h16M4 17h16"],
  notice: ["M12 3.5 2.5 20h19z", "M12 10v4.5M12 17.2v.3"],
  close: ["M6 6l12 12M18 6 6 18"],
};

export function icon(name) {
  return svg(
    "svg",
    { class: `icon icon-${name}`, viewBox: "0 0 24 24", width: 20, height: 20, "aria-hidden": "true" },
    PATHS[name].map((d) => svg("path", { d })),
  );
}
