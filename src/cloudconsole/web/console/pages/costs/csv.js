// Lines of a CSV file, the same as those of the command `cloudconsole costs export`.

// Where a spreadsheet would see the beginning of a formula. In many languages it splits lines at semicolons, or else at
// tabs, and then the quotes of a field do not protect it. Some ignore whitespace before a formula. JavaScript's \s has
// other characters than Python's, which these are.
const SPACE_OR_QUOTE = '[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"]';
const NUMBER = "-?[0-9]+(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?";
const FORMULA = new RegExp(
  `(?:^(?!${NUMBER}$)|(?<=[;\\t\\r\\n])(?!${NUMBER}(?:[;\\t\\r\\n]|$)))(?=${SPACE_OR_QUOTE}*[=+\\-@＝＋－＠])` +
    "|^(?=[\\t\\r\\n])",
  "g",
);

export function csvLine(values) {
  return `${values.map((value) => quoted(value.replace(FORMULA, "'"))).join(",")}\n`;
}

function quoted(text) {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
