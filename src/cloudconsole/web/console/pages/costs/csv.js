// Lines of a CSV file, the same as those of the command `cloudconsole costs export`.

// What a spreadsheet would run as a formula; some ignore whitespace before it. JavaScript's \s has other characters than
// Python's, which these are.
const SPACE = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const FORMULA = new RegExp(`^(?:${SPACE}*[=+\\-@＝＋－＠]|[\\t\\r\\n])`);
const NUMBER = /^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$/;

export function csvLine(values) {
  return `${values.map((value) => quoted(withoutFormula(value))).join(",")}\n`;
}

function withoutFormula(text) {
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
}

function quoted(text) {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
