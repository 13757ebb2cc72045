"""Body grammars: how a call writes its arguments. One file each."""

from tokenmill.parser.bodies.base import Body, Reader
from tokenmill.parser.bodies.children import Children
from tokenmill.parser.bodies.closed_json import ClosedJsonCall
from tokenmill.parser.bodies.json_body import JsonArguments, JsonCall
from tokenmill.parser.bodies.json_keyed import JsonKeyed
from tokenmill.parser.bodies.literal import Literals
from tokenmill.parser.bodies.markup import Markup
from tokenmill.parser.bodies.params import Params
from tokenmill.parser.bodies.pycalls import PyCalls
from tokenmill.parser.bodies.tagged_json import TaggedJson
from tokenmill.parser.bodies.tool_object import ToolObject
from tokenmill.parser.bodies.tree import Tree

__all__ = [
    "Body",
    "Children",
    "ClosedJsonCall",
    "JsonArguments",
    "JsonCall",
    "JsonKeyed",
    "Literals",
    "Markup",
    "Params",
    "PyCalls",
    "Reader",
    "TaggedJson",
    "ToolObject",
    "Tree",
]
