"""What exists for one system that tokenmill can replace: its formats, their bodies, its codecs and its dialects.

A folder for each system. They are found as those of any other package are, through the entry points in `pyproject.toml`
(see `plugins`), so nothing else of this package knows them.
"""
