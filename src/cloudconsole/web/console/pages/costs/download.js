// Buttons that download the costs of a month as a file, as `cloudconsole costs export` prints them.

import { announce } from "../../components/announce.js";
import { invalidResponse } from "../../core/api.js";
import { h, replace } from "../../core/dom.js";
import { formatNumber, t } from "../../core/i18n.js";
import { errorBox, toApiError } from "../../core/panel.js";
import { call, CallCancelled } from "../../core/session.js";
import { formatMonth } from "../../core/time.js";
import { csvLine } from "./csv.js";

const PAGE = 1000;
const FORMATS = ["csv", "focus"];
// With it, spreadsheet programs read the file as UTF-8. Cost tools expect FOCUS files without it.
const BYTE_ORDER_MARK = "\ufeff";

export function downloadButtons(first) {
  const status = h("div", { class: "download-status" });
  const buttons = FORMATS.map((format) =>
    h("button", { type: "button", class: format === "focus" && "plain", onclick: () => start(month, format) }),
  );
  let month = first;
  let isRunning = false;

  async function start(ofMonth, format) {
    if (isRunning) return;
    setRunning(true);
    const name = format === "csv" ? `costs-${ofMonth}.csv` : `costs-${ofMonth}-${format}.csv`;
    try {
      const show = (rows) => replace(status, h("p", { class: "hint" }, t("costs.downloading", { rows: formatNumber(rows) })));
      show(0);
      const { file, rows } = await readExport(ofMonth, format, show);
      save(file, name);
      const done = t("costs.downloaded", { name, rows: formatNumber(rows) });
      replace(status, h("p", { class: "hint" }, done));
      announce(done);
    } catch (error) {
      if (error instanceof CallCancelled) return;
      replace(status, errorBox(toApiError(error), () => start(ofMonth, format)));
    } finally {
      setRunning(false);
    }
  }

  // A disabled button would lose the focus.
  function setRunning(value) {
    isRunning = value;
    for (const button of buttons) button.setAttribute("aria-disabled", String(value));
  }

  // The month to download. One without costs has nothing to download.
  function show(chosen, isEmpty = false) {
    month = chosen;
    for (const [index, button] of buttons.entries()) {
      button.disabled = isEmpty;
      button.title = isEmpty ? t("costs.download.empty") : "";
      replace(button, t(`costs.download.${FORMATS[index]}`, { month: formatMonth(month) }));
    }
  }

  function clearError() {
    if (status.querySelector(".error-box")) replace(status);
  }

  show(first);
  return { show, clearError, buttons: h("div", { class: "row" }, buttons), status };
}

// Each page becomes a part of the file, which the browser may keep outside of its memory.
async function readExport(month, format, onProgress) {
  const parts = format === "csv" ? [BYTE_ORDER_MARK] : [];
  let [columns, marker, rows] = [null, null, 0];
  do {
    const page = await call("GetCostExport", { month, format, limit: PAGE, ...(marker === null ? {} : { marker }) });
    requireSuccessor(page, columns, marker);
    if (columns === null) parts.push(new Blob([csvLine(page.columns)]));
    parts.push(new Blob(page.rows.map(csvLine)));
    rows += page.rows.length;
    [columns, marker] = [page.columns, page.next_marker];
    onProgress(rows);
  } while (marker !== null);
  return { file: new Blob(parts, { type: "text/csv;charset=utf-8" }), rows };
}

// A file of wrong columns, or an endless one, is worse than an error.
function requireSuccessor(page, columns, marker) {
  const isSame = columns === null || JSON.stringify(page.columns) === JSON.stringify(columns);
  const isNext = marker === null || page.next_marker !== marker;
  const isEven = page.rows.every((row) => row.length === page.columns.length);
  if (!isSame || !isNext || !isEven) throw invalidResponse({ code: 200 });
}

function save(file, name) {
  const address = URL.createObjectURL(file);
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  // The download has started with the click, but some browsers read the file later.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
