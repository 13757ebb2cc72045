"""The live view as a page of its own, without a network: modules and style in one file, and a place for a recording.

1. Modules are joined in the order in which they need each other, each in a function of its own: names can't collide.
   The assets are written so that this can be done by their lines: an import or an export is one line.
2. The page's policy allows the one script and the one style by their hashes, and nothing else.
"""

import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256

IMPORT = re.compile(r'^import \{ (?P<names>[^}]+) \} from "\./(?P<module>\w+)\.js";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:class|function|const) (?P<name>\w+))", re.MULTILINE)

ENTRY = "replay.js"

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>tokenmill recording</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<header><h1>tokenmill recording</h1></header>
<main></main>
<script id="recording" type="application/x-ndjson">RECORDING</script>
<script type="module">{script}</script>
</body>
</html>
"""

POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data:; base-uri 'none'; "
    "form-action 'none'; require-trusted-types-for 'script'"
)


def replay_page(assets: Mapping[str, str]) -> str:
    """The page, of the texts of the assets. A recording comes in place of the word `RECORDING`."""
    script, style = bundle(ENTRY, assets), assets["style.css"]
    policy = POLICY.format(script=_hash(script), style=_hash(style))
    return PAGE.format(policy=policy, style=style, script=script)


def bundle(entry: str, assets: Mapping[str, str]) -> str:
    """A module and all that it imports, as one script."""
    done = dict[str, str]()
    _add(entry, assets, done)
    return "".join(done.values())


def _add(name: str, assets: Mapping[str, str], done: dict[str, str]) -> None:
    text = assets[name]
    for found in IMPORT.finditer(text):
        if (needed := f"{found['module']}.js") not in done:
            _add(needed, assets, done)
    exports = ", ".join(found["name"] for found in EXPORT.finditer(text))
    body = EXPORT.sub("", IMPORT.sub(r"const { \g<names> } = $\g<module>;\n", text))
    done[name] = f"const ${name.removesuffix('.js')} = (() => {{\n{body}return {{ {exports} }};\n}})();\n"


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
