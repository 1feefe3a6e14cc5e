"""The command line: each module holds one command or several related ones."""
