"""Password hashing, and which hashes made elsewhere are accepted."""

import pytest
from argon2 import PasswordHasher, Type

from cloudconsole.store.passwords import decoy_hash, hash_password, is_usable_hash, needs_rehash, password_matches

GOOD = PasswordHasher(time_cost=2, memory_cost=18 * 1024, parallelism=1, hash_len=16, salt_len=8).hash("right")
HEAD, SALT, DIGEST = GOOD.rsplit("$", 2)


@pytest.mark.parametrize("password", ["wrong", "", "Right", "right ", "right\x00", "\ud800"])
def test_wrong_password_does_not_match(password: str) -> None:
    assert not password_matches(GOOD, password)


@pytest.mark.parametrize("stored", ["", "right", "$argon2id$", "!", "$2b$12$abcdefghijklmnopqrstuv"])
def test_a_broken_hash_matches_nothing(stored: str) -> None:
    assert not password_matches(stored, "right")


def test_new_hash_matches_and_has_the_expected_cost_and_a_random_salt() -> None:
    assert password_matches(hash_password("right 密码"), "right 密码")
    assert hash_password("x").startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert hash_password("same") != hash_password("same")


def test_decoy_hash_costs_as_much_as_a_real_one() -> None:
    assert decoy_hash().split("$")[:4] == hash_password("x").split("$")[:4]
    assert [len(part) for part in decoy_hash().split("$")] == [len(part) for part in hash_password("x").split("$")]


@pytest.mark.parametrize(
    "hasher",
    [
        PasswordHasher(time_cost=4, memory_cost=9 * 1024, parallelism=1, hash_len=16, salt_len=8),
        PasswordHasher(time_cost=1, memory_cost=36 * 1024, parallelism=1),
        PasswordHasher(),
        PasswordHasher(time_cost=4, memory_cost=9 * 1024, parallelism=8),
        PasswordHasher(time_cost=1, memory_cost=64 * 1024, parallelism=1),
        PasswordHasher(time_cost=2, memory_cost=18 * 1024, parallelism=1, hash_len=64, salt_len=32),
    ],
    ids=["least memory", "fewest passes", "library's defaults", "most lanes", "largest", "long"],
)
def test_a_hash_made_elsewhere_is_usable_and_works(hasher: PasswordHasher) -> None:
    encoded = hasher.hash("right")
    assert is_usable_hash(encoded)
    assert password_matches(encoded, "right")


def _with_parameters(parameters: str) -> str:
    return f"$argon2id$v=19${parameters}${SALT}${DIGEST}"


@pytest.mark.parametrize(
    "encoded",
    [
        "",
        "right",
        "$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW",
        "5f4dcc3b5aa765d61d8327deb882cf99",
        PasswordHasher(time_cost=2, memory_cost=18 * 1024, parallelism=1, type=Type.I).hash("right"),
        PasswordHasher(time_cost=2, memory_cost=18 * 1024, parallelism=1, type=Type.D).hash("right"),
        GOOD.replace("v=19", "v=16"),
        GOOD.replace("$v=19", ""),
        GOOD + "\n",
        " " + GOOD,
        GOOD + "=",
        GOOD[:-1] + "é",
        HEAD + "$" + SALT,
        HEAD + "$$" + DIGEST,
        HEAD + "$" + SALT + "$",
        HEAD + "$" + SALT + "$" + DIGEST[:5],
        GOOD + "!",
    ],
    ids=range(17),
)
def test_other_or_malformed_hash_is_rejected(encoded: str) -> None:
    assert not is_usable_hash(encoded)


TOO_EXPENSIVE = "m=65537,t=1,p=1 m=18432,t=5,p=1 m=18432,t=2,p=9 m=999999999,t=1,p=1 m=18432,t=999999999,p=1"
TOO_CHEAP = "m=8,t=1,p=1 m=36863,t=1,p=1 m=9215,t=4,p=1 m=4096,t=4,p=8 m=0,t=1,p=1 m=18432,t=0,p=1 m=18432,t=2,p=0"
MALFORMED = "t=2,m=18432,p=1 m=18432,t=2 m=18432,t=2,p=1,x=1 m=-18432,t=2,p=1 m=18432,t=2,p=\u0661"


@pytest.mark.parametrize("parameters", f"{TOO_EXPENSIVE} {TOO_CHEAP} {MALFORMED}".split())
def test_hash_with_other_parameters_is_rejected(parameters: str) -> None:
    assert not is_usable_hash(_with_parameters(parameters))


def test_only_hashes_with_our_parameters_need_no_rehash() -> None:
    assert not needs_rehash(hash_password("x"))
    assert needs_rehash(GOOD)
    assert needs_rehash(PasswordHasher(time_cost=4, memory_cost=64 * 1024, parallelism=8).hash("x"))


def _with_stray_bits(part: str) -> str:
    """Return an encoding of the same bytes with unused bits set in the last character."""
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return part[:-1] + digits[digits.index(part[-1]) ^ 1]


@pytest.mark.parametrize(
    "encoded",
    [
        _with_parameters("m=018432,t=2,p=1"),
        _with_parameters("m=18432,t=02,p=1"),
        _with_parameters("m=18432,t=2,p=001"),
        f"{HEAD}${_with_stray_bits(SALT)}${DIGEST}",
        f"{HEAD}${SALT}${_with_stray_bits(DIGEST)}",
        f"{HEAD}${SALT}AA${DIGEST}",
    ],
    ids=["m=018432", "t=02", "p=001", "stray bits in salt", "stray bits in digest", "impossible length"],
)
def test_hash_that_could_never_match_is_rejected(encoded: str) -> None:
    assert not password_matches(encoded, "right")
    assert not is_usable_hash(encoded)
