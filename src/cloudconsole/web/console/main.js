// The console: which page is shown, and the sign-in before it.

import { h, replace } from "./core/dom.js";
import { t } from "./core/language.js";

replace(document.body, h("main", {}, h("h1", {}, t("title"))));
