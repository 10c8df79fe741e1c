"""How the pages that the console shows look; it is in the page itself, so that nothing is loaded."""

from typing import Final

STYLE: Final = """
:root{color-scheme:light dark;--ink:#1b2a38;--soft:#5b6b7a;--line:#d5dde4;--paper:#f7f9fb;--accent:#0b6bcb}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#9fb0bf;--line:#33414e;--paper:#12191f;--accent:#7cb8f7}}
body{margin:0;background:var(--paper);color:var(--ink);font:17px/1.6 system-ui,sans-serif}
main{max-width:44rem;margin:0 auto;padding:3rem 1.25rem}
h1{font-size:2rem;margin:0 0 .25rem}h2{font-size:1.15rem;margin:2.25rem 0 .5rem}
p.lead{color:var(--soft);margin:0}a{color:var(--accent)}
ol,ul{padding-left:1.4rem}li{margin:.35rem 0}
code{font:.88em ui-monospace,monospace;border:1px solid var(--line);border-radius:4px;padding:.1em .35em}
code{overflow-wrap:anywhere}
"""
