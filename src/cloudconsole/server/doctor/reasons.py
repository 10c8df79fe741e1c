"""Why a call to a cloud failed, in words that hold nothing of what was sent or answered."""

import httpx2

from cloudconsole.backends.openstack.client import BadAnswer, TokenRefused
from cloudconsole.server.doctor.probe import quote


def reason_of(failure: BaseException) -> str:
    cause = failure.__cause__ or failure
    if isinstance(cause, TimeoutError):
        return "no answer in time"
    if isinstance(cause, TokenRefused):
        return "it does not take Keystone's token"
    if isinstance(cause, BadAnswer | httpx2.NetworkError):
        return quote(cause)
    # What others say of themselves may quote the token or the answer that they are about.
    return "an answer that makes no sense"
