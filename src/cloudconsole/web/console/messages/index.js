// All messages by key, in both languages.

import { COSTS } from "./costs.js";
import { DOMAIN } from "./domain.js";
import { ESTIMATE } from "./estimate.js";
import { FLAVORS } from "./flavors.js";
import { LIST } from "./list.js";
import { OVERVIEW } from "./overview.js";
import { SHELL } from "./shell.js";

export const MESSAGES = { ...SHELL, ...OVERVIEW, ...COSTS, ...FLAVORS, ...ESTIMATE, ...DOMAIN, ...LIST };
