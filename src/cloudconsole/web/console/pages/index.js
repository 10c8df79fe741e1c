// The pages, in the order of the navigation. A page is {path, title, show(place)}: `show` gives its elements, an h1
// among them, and is called anew each time one comes to it, signs in or changes the language.

import { page as domain } from "./domain.js";
import { page as flavors } from "./flavors.js";
import { page as overview } from "./overview.js";

export const PAGES = [overview, flavors, domain];
