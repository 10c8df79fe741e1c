"""Very many resources from a file of JSON lines, in short transactions; what is there already is passed over."""
