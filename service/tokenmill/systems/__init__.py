"""What exists for one system that tokenmill can replace: its formats, their bodies, its codecs and its dialects.

Each system has a folder. They are found like those of any other package, through the entry points in `pyproject.toml`
(see `plugins`), so nothing else in this package depends on them.
"""
