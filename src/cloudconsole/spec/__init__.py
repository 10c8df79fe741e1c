"""Interface shared by client and server: actions, payloads, envelope, errors. Depends on msgspec only."""
