"""One app in two versions: in the later one, which upcasts, its contracts have one field more."""
