// Every text of the pages, by name, in both languages.

import { DOMAIN } from "./domain.js";
import { FLAVORS } from "./flavors.js";
import { OVERVIEW } from "./overview.js";
import { SHELL } from "./shell.js";

export const TEXTS = { ...SHELL, ...OVERVIEW, ...FLAVORS, ...DOMAIN };
