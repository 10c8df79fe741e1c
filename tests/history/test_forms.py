"""What is read of a page: its forms as they stand, and what it complains of."""

from history.forms import Form, Page

PAGE = """
<p>Before</p>
<div role="alert"><h2>Not <em>done</em></h2> <ul><li>Id:<br> taken</li></ul></div>
<p>After</p>
<form action="/admin/news/change/?key=1&amp;a=b">
  <input type="hidden" name="key" value="&lt;1&gt;"><input name="title" value="">
  <input type="checkbox" name="ticked" checked><input type="checkbox" name="empty">
</form>
<form action="/admin/sign-out/"><input name="token" value="t"></form>
"""


def test_forms_are_read_as_they_would_be_sent() -> None:
    assert Page(PAGE).forms == [
        Form("/admin/news/change/?key=1&a=b", {"key": "<1>", "title": "", "ticked": "on"}),
        Form("/admin/sign-out/", {"token": "t"}),
    ]


def test_a_form_is_found_by_where_it_goes() -> None:
    page = Page(PAGE)
    assert page.form("/admin/news/change/") is page.forms[0]
    assert page.form("/admin/news/") is None


def test_only_what_is_said_in_alarm_is_a_complaint() -> None:
    assert Page(PAGE).complaint == "Not done Id: taken"
    assert Page("<p>All is well</p>").complaint == ""
