"""Parts of a page that a script writes, each between two marks."""


def with_part(page: str, marks: tuple[str, str], text: str) -> str:
    """Return a page with the text between two marks replaced; all else stays."""
    begin, end = marks
    head, _, rest = page.partition(begin)
    _, _, tail = rest.partition(end)
    return f"{head}{begin}\n{text}\n{end}{tail}"
