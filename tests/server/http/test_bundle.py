"""One script of many modules. The browser suite runs the one of the console."""

import pytest

from cloudconsole.server.http.bundle import BundleError, bundle

MODULES = {
    "main.js": """import { one, two as second } from "./numbers/all.js";
import * as words from "./words.js";
import {
  three,
} from "./numbers/all.js";

console.log(one, second(), three, words);
""",
    "numbers/all.js": """import { hello } from "../words.js";
export const one = hello;
export async function two() {}
export class three {}
""",
    "words.js": "export const hello = 1;\n",
    "unused.js": "console.log('never');\n",
}

BUNDLE = """// words.js
const $words_js = (() => {
const hello = 1;
return {hello};
})();
// numbers/all.js
const $numbers_all_js = (() => {
const { hello } = $words_js;
const one = hello;
async function two() {}
class three {}
return {one, two, three};
})();
// main.js
const $main_js = (() => {
const { one, two: second } = $numbers_all_js;
const words = $words_js;
const {
  three,
} = $numbers_all_js;

console.log(one, second(), three, words);
return {};
})();
"""


def encoded(**changes: str) -> dict[str, bytes]:
    return {path: text.encode() for path, text in {**MODULES, **changes}.items()}


def test_each_imported_module_becomes_a_function_after_its_imports() -> None:
    assert bundle(encoded(), "main.js").decode() == BUNDLE


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"words.js": 'import { one } from "./numbers/all.js";\n'}, "import each other: main.js -> numbers/all.js"),
        ({"main.js": 'import { one } from "./none.js";\n'}, "imports none.js, which does not exist"),
        ({"main.js": 'import one from "./words.js";\n'}, "main.js: cannot be bundled: import one from"),
        ({"main.js": 'import "./words.js";\n'}, "cannot be bundled"),
        ({"main.js": "export default 1;\n"}, "cannot be bundled"),
        ({"main.js": "export { one };\n"}, "cannot be bundled"),
        ({"main.js": "export let one = 1;\n"}, "cannot be bundled"),
        ({"main.js": "const own = import.meta.url;\n"}, "cannot be bundled: import.meta"),
        ({"main.js": 'const module = await import("./words.js");\n'}, "cannot be bundled: import("),
    ],
)
def test_anything_else_than_named_imports_and_exports_is_an_error(changes: dict[str, str], problem: str) -> None:
    with pytest.raises(BundleError) as error:
        bundle(encoded(**changes), "main.js")
    assert problem in str(error.value)
