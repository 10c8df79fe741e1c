"""Completing commands in a shell: the script asks the program itself, which knows them all."""
