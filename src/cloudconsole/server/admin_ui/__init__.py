"""The pages for operators at `/admin/`: made from the table of nouns, as the commands are, and changing nothing
themselves: every change is one of the layer of operators' work."""
