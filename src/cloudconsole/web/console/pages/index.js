// The pages in navigation order. A page is {path, title, render(route)}: `render` returns its elements, including an
// h1, and is called on each navigation, sign-in and language change.

import { page as costs } from "./costs.js";
import { page as domain } from "./domain.js";
import { page as flavors } from "./flavors.js";
import { page as overview } from "./overview.js";

export const PAGES = [overview, costs, flavors, domain];
