"""`cloudconsole doctor`: what is wrong with a console, in plain words, and what mends it. It changes nothing."""
