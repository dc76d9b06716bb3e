"""The page and its HTTP interface: a door to the same library calls as the command line's (`paretofoil serve`)."""
