"""What flows return and keep, as plain values and back."""
