"""The saved page: modules and style in one file, allowed by their hashes."""

import subprocess
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

from tests.support.judging import node
from tests.support.policy import directives
from tokenmill.inspector.page import REPLAY, assets
from tokenmill.inspector.replay import bundle

MODULES = {
    "one.js": 'import { say, Two } from "./two.js";\nimport { name } from "./three.js";\n'
    'const shout = "one";\nconsole.log(say(shout), new Two().name, name);\n',
    "two.js": 'import { name } from "./three.js";\nconst shout = "two";\n'
    "export function say(text) {\n  return `${shout} says ${text}`;\n}\nexport class Two {\n  name = name;\n}\n",
    "three.js": 'export const name = "three";\n',
}


def test_modules_are_joined_in_the_order_of_their_needs(tmp_path: Path) -> None:
    """Each once, with names of its own."""
    script = tmp_path / "bundle.mjs"
    script.write_text(bundle("one.js", MODULES))
    done = subprocess.run([node(), str(script)], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "two says one three three\n"
    assert script.read_text().count("const $three") == 1


def test_the_page_s_policy_allows_its_own_script_and_style_alone() -> None:
    """By their hashes; nothing comes from a network, and there is one place for the recording."""
    page = assets()[REPLAY].body.decode()
    policy = page.partition('content="')[2].partition('"')[0]
    hashes = dict[str, set[str]]()
    for tag, name in (("<style>", "style-src"), ('<script type="module">', "script-src")):
        content = page.partition(tag)[2].partition(f"</{tag[1:].split('>')[0].split()[0]}>")[0]
        digest = b64encode(sha256(content.encode()).digest()).decode()
        hashes[name] = {f"'sha256-{digest}'"}
    assert directives(policy) == {
        "default-src": {"'none'"},
        **hashes,
        "img-src": {"data:"},
        "base-uri": {"'none'"},
        "form-action": {"'none'"},
        "require-trusted-types-for": {"'script'"},
    }
    assert page.count(">RECORDING</script>") == 1
    assert "https://" not in page.replace("http://www.w3.org/", "")
