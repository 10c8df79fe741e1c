// Where a text is not JSON: the first mistake, with its line and column, in the words that the server has, too.

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
const WORDS = ["true", "false", "null"];
const ESCAPES = '"\\/bfnrt';

class Mistake extends Error {
  constructor(words, place) {
    super(words);
    this.place = place;
  }
}

// The first mistake of a text as {line, column, words}; null where there is none.
export function findMistake(text) {
  try {
    const end = skipSpace(text, readValue(text, skipSpace(text, 0), 0));
    if (end < text.length) throw new Mistake("extra data", end);
    return null;
  } catch (problem) {
    if (!(problem instanceof Mistake)) throw problem;
    const before = text.slice(0, problem.place).split("\n");
    return { line: before.length, column: [...before.at(-1)].length + 1, words: problem.message };
  }
}

function skipSpace(text, place) {
  SPACE.lastIndex = place;
  SPACE.test(text);
  return SPACE.lastIndex;
}

function readValue(text, place, depth) {
  if (depth > 500) throw new Mistake("nested too deep", place);
  const first = text[place];
  if (first === '"') return readString(text, place);
  if (first === "{") return readItems(text, place, "}", depth, readEntry);
  if (first === "[") return readItems(text, place, "]", depth, readValue);
  const word = WORDS.find((each) => text.startsWith(each, place));
  if (word) return place + word.length;
  NUMBER.lastIndex = place;
  if (!NUMBER.test(text)) throw new Mistake("expecting value", place);
  return NUMBER.lastIndex;
}

function readItems(text, start, closing, depth, readItem) {
  let place = skipSpace(text, start + 1);
  if (text[place] === closing) return place + 1;
  for (;;) {
    place = skipSpace(text, readItem(text, place, depth + 1));
    if (text[place] === closing) return place + 1;
    if (text[place] !== ",") throw new Mistake("expecting ',' delimiter", place);
    place = skipSpace(text, place + 1);
  }
}

function readEntry(text, place, depth) {
  if (text[place] !== '"') throw new Mistake("expecting property name enclosed in double quotes", place);
  const colon = skipSpace(text, readString(text, place));
  if (text[colon] !== ":") throw new Mistake("expecting ':' delimiter", colon);
  return readValue(text, skipSpace(text, colon + 1), depth);
}

function readString(text, start) {
  for (let place = start + 1; place < text.length; place += 1) {
    const character = text[place];
    if (character === '"') return place + 1;
    if (character < " ") throw new Mistake("invalid control character", place);
    if (character === "\\") place = readEscape(text, place, start);
  }
  throw new Mistake("unterminated string starting", start);
}

// The place of an escape's last character.
function readEscape(text, place, start) {
  const kind = text[place + 1];
  if (kind === undefined) throw new Mistake("unterminated string starting", start);
  if (kind === "u") {
    if (!/^[0-9a-fA-F]{4}$/.test(text.slice(place + 2, place + 6))) {
      throw new Mistake("invalid \\uXXXX escape", place + 1);
    }
    return place + 5;
  }
  if (!ESCAPES.includes(kind)) throw new Mistake("invalid \\escape", place);
  return place + 1;
}
