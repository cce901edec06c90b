"""Parts of a page that a script writes, each between two marks."""


def with_part(page: str, marks: tuple[str, str], text: str) -> str:
    begin, end = marks
    head, _, rest = page.partition(begin)
    _, _, tail = rest.partition(end)
    return f"{head}{begin}\n{text}\n{end}{tail}"
