"""The values of channels: what they are stored as, which types are restored, and copies of them."""
