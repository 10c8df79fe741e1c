// Locate the first JSON syntax error, with the same messages as the server.

import { t } from "./json_messages.js";

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
const LITERALS = ["true", "false", "null"];
const ESCAPES = '"\\/bfnrt';

class JsonSyntaxError extends Error {
  constructor(key, position) {
    super(t(key));
    this.position = position;
  }
}

// The first syntax error as {line, column, problem}; null for valid JSON.
export function findSyntaxError(text) {
  try {
    const end = skipSpace(text, readValue(text, skipSpace(text, 0), 0));
    if (end < text.length) throw new JsonSyntaxError("extra", end);
    return null;
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const before = text.slice(0, error.position).split("\n");
    return { line: before.length, column: [...before.at(-1)].length + 1, problem: error.message };
  }
}

function skipSpace(text, position) {
  SPACE.lastIndex = position;
  SPACE.test(text);
  return SPACE.lastIndex;
}

function readValue(text, position, depth) {
  if (depth > 500) throw new JsonSyntaxError("too_deep", position);
  const first = text[position];
  if (first === '"') return readString(text, position);
  if (first === "{") return readItems(text, position, "}", depth, readEntry);
  if (first === "[") return readItems(text, position, "]", depth, readValue);
  const literal = LITERALS.find((each) => text.startsWith(each, position));
  if (literal) return position + literal.length;
  NUMBER.lastIndex = position;
  if (!NUMBER.test(text)) throw new JsonSyntaxError("value", position);
  return NUMBER.lastIndex;
}

function readItems(text, start, closing, depth, readItem) {
  let position = skipSpace(text, start + 1);
  if (text[position] === closing) return position + 1;
  for (;;) {
    position = skipSpace(text, readItem(text, position, depth + 1));
    if (text[position] === closing) return position + 1;
    if (text[position] !== ",") throw new JsonSyntaxError("comma", position);
    position = skipSpace(text, position + 1);
  }
}

function readEntry(text, position, depth) {
  if (text[position] !== '"') throw new JsonSyntaxError("property", position);
  const colon = skipSpace(text, readString(text, position));
  if (text[colon] !== ":") throw new JsonSyntaxError("colon", colon);
  return readValue(text, skipSpace(text, colon + 1), depth);
}

function readString(text, start) {
  for (let position = start + 1; position < text.length; position += 1) {
    const character = text[position];
    if (character === '"') return position + 1;
    if (character < " ") throw new JsonSyntaxError("control", position);
    if (character === "\\") position = readEscape(text, position, start);
  }
  throw new JsonSyntaxError("unterminated", start);
}

// Return the position of the escape's last character.
function readEscape(text, position, start) {
  const kind = text[position + 1];
  if (kind === undefined) throw new JsonSyntaxError("unterminated", start);
  if (kind === "u") {
    if (!/^[0-9a-fA-F]{4}$/.test(text.slice(position + 2, position + 6))) {
      throw new JsonSyntaxError("unicode_escape", position + 1);
    }
    return position + 5;
  }
  if (!ESCAPES.includes(kind)) throw new JsonSyntaxError("escape", position);
  return position + 1;
}
