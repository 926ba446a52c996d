"""The verbs that span rooms, as functions, a file for each: what the command line does, for scripts and notebooks."""
