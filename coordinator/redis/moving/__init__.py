"""`batonpass repartition`: a namespace is copied to one that has more partitions, compared, and marked as moved."""
