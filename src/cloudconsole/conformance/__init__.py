"""The conformance kit: checks any console from outside, section by section.

`checks` is what a check is, `table` all of them in order, `interface` and `console` the two profiles. A check looks at
what an `examination` found out; that asks through a `visitor`, who has a cookie jar, and all requests go through
`sending`, which bounds how many there are and how long they take. `running` makes results of checks, `report` shows
them.
"""
