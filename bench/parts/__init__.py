"""What is measured: one module a part. Each gives a `PartResult`, or refuses."""
