"""The conformance kit: checks any console from outside, section by section.

`checks` is what a check is, `table` all of them in order, `interface` and `console` the two profiles. A check looks at
what an `examination` found out of its `subject`; that asks by `calling` as a `visitor`, who has a cookie jar. All
requests go through `sending`, within a `budget`, and end in `answers`; `reading` says what they mean. `running` makes
results of checks, `report` shows them.
"""
