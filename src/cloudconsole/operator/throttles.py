"""Letting someone in again whose logins failed too often."""

from sqlalchemy import Connection, delete

from cloudconsole.operator.audit import note
from cloudconsole.operator.desk import Desk
from cloudconsole.operator.nouns.accounts import ACCOUNTS
from cloudconsole.operator.nouns.noun import Done
from cloudconsole.store.activity import hash_username
from cloudconsole.store.tables import login_failures


def clear_throttle(desk: Desk, activity: Connection, username: str, network: str | None = None) -> Done:
    """Forget an account's failed logins, from one network or from all, and say how many there were.

    They are in the other database, which the caller commits once the desk is done: should the machine stop between
    the two, there is a line too many in the trail, and none is missing.
    """
    ACCOUNTS.show(desk, username)
    failures = delete(login_failures).where(login_failures.c.user_hash == hash_username(username))
    if network is not None:
        failures = failures.where(login_failures.c.network == network)
    forgotten = activity.execute(failures).rowcount
    after = {**({} if network is None else {"address": network}), "failures": forgotten}
    note(desk, "account.clear-throttle", username, None, after)
    return Done(username, None, after)


def throttle_cleared(done: Done) -> str:
    """What was done, in words."""
    return f"{0 if done.after is None else done.after['failures']} failed logins forgotten"
