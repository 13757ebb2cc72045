"""The site of the project's pages, which `make site` builds.

The Markdown says nothing of it, so that it reads the same wherever files are shown. toc.yml has the order of the pages.
"""

project = "tokenmill"
author = "the tokenmill authors"

root_doc = "docs/index"
include_patterns = [
    "CHANGELOG.md",
    "SECURITY.md",
    "deploy/npm/README.md",
    "docs/**.md",
    "helm/tokenmill/README.md",
]
exclude_patterns = [".*", "build", "dist", "service", "tests"]  # tens of thousands of files, none of them a page

extensions = ["myst_parser", "sphinx_external_toc", "sphinxcontrib.mermaid"]
external_toc_path = "docs/site/toc.yml"
myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]

html_theme = "furo"
html_title = project
html_extra_path = ["root"]
html_copy_source = False
