"""The web page and its HTTP interface (`paretofoil serve`): they make the same library calls as the command line."""
