"""Body grammars: how a call writes its arguments. One file each."""

from tokenmill.parser.bodies.base import Body, Reader
from tokenmill.parser.bodies.json_body import JsonArguments, JsonCall
from tokenmill.parser.bodies.json_keyed import JsonKeyed
from tokenmill.parser.bodies.literal import Literals
from tokenmill.parser.bodies.markup import Markup
from tokenmill.parser.bodies.params import Params
from tokenmill.parser.bodies.pycalls import PyCalls
from tokenmill.parser.bodies.tree import Tree

__all__ = [
    "Body",
    "JsonArguments",
    "JsonCall",
    "JsonKeyed",
    "Literals",
    "Markup",
    "Params",
    "PyCalls",
    "Reader",
    "Tree",
]
