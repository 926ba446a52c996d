"""Drop-ins: change one import, and a script written for another tool logs with Perdure."""
