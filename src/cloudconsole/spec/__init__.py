"""What both sides of the wire share: actions, payloads, envelope, errors. Pure; knows msgspec and nothing of ours."""
