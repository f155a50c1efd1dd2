"""One app in two versions: its contracts have one field more in the later, which upcasts."""
