"""The verb `paretofoil searches`."""


def searches() -> None:
    """List the searches: what each does, the policies it needs, and whether it proves its answer."""
    from paretofoil.cli.console import print_rows
    from paretofoil.search.registry import methods

    rows = []
    for method in methods():
        kind = method.load()
        rows.append([method.name, method.summary, kind.access, "yes" if kind.proves else ""])
    print_rows("Searches", ["name", "method", "policy", "proves"], rows)
