"""An index of the last minutes' requests at all fronts, made from the records of `requests` and this front's clock."""

import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable

import msgspec
from aiokafka import ConsumerRecord

from tokenmill.apis.namespaces import Namespaces, declared_namespaces
from tokenmill.apis.record import (
    ApiName,
    LeftRecord,
    ReaderRecord,
    RequestRecord,
    StoppedRecord,
    conversation_in_key,
    read_request,
)
from tokenmill.errors import NOT_JSON
from tokenmill.limits import MIB, MODEL_CHARS

KNOWN_KEPT = 200_000
"""Number of requests that are kept: some hundred a second for ten minutes or more, half a kilobyte each."""


class KnownRequest(msgspec.Struct, frozen=True, gc=False):
    """A request in the log, without its body."""

    conversation: str
    message_id: str
    api: ApiName
    fingerprint: str
    key: str
    attempt: int
    stays: bool
    time_ms: int
    model: str = ""
    """The model's name, for the Responses API: a response shows it before it has begun."""
    read_at: float = 0.0
    """When it was read from the log, by the index's clock."""


NAMES_BYTES = 32 * MIB
"""Bytes of names of tools in namespaces that are kept, for all requests: those of some hundred coding agents, each with
a hundred tools or two."""

NAME_BYTES = 234
"""Bytes that the two names of a tool, and the joined one, take besides their characters."""


class _Declared:
    """The names that one or more requests declare."""

    __slots__ = ("names", "size", "uses")

    def __init__(self, names: Namespaces) -> None:
        self.names = names
        self.uses = 0
        """Number of answers that may call them."""
        self.size = sum(NAME_BYTES + len("".join((joined, *names)).encode()) for joined, names in names.items())
        """Bytes in memory."""


class _Names:
    """Names of tools in namespaces, by the id of the answer that may call them. The oldest are forgotten first.

    All turns of an agent declare the same names, which are kept once.
    """

    def __init__(self) -> None:
        self._of_answers: OrderedDict[str, _Declared] = OrderedDict()
        self._declared: dict[frozenset[tuple[str, tuple[str, str]]], _Declared] = {}
        self._bytes = 0

    def keep(self, message_id: str, names: Namespaces) -> None:
        """Keep names as long as there is room."""
        if not names:
            return
        key = frozenset(names.items())
        declared = self._declared.get(key)
        if declared is None:
            declared = self._declared[key] = _Declared(names)
            self._bytes += declared.size
        declared.uses += 1
        self._of_answers[message_id] = declared
        while self._bytes > NAMES_BYTES:
            self.drop(next(iter(self._of_answers)))

    def drop(self, message_id: str) -> None:
        """Forget the names of an answer, if they are kept."""
        declared = self._of_answers.pop(message_id, None)
        if declared is None:
            return
        declared.uses -= 1
        if not declared.uses:
            del self._declared[frozenset(declared.names.items())]
            self._bytes -= declared.size

    def of(self, message_id: str) -> Namespaces:
        """Return the names, or none."""
        declared = self._of_answers.get(message_id)
        return {} if declared is None else declared.names


class _BodyModel(msgspec.Struct, gc=False):
    """The part of a body that is read."""

    model: str = ""


class RequestIndex:
    """Finds requests by id, key and fingerprint.

    It calls `read_elsewhere` with a conversation and a message id if a front has a further reader of that answer, and
    `left` if a front has lost its last one.
    """

    def __init__(
        self,
        keep_s: float,
        read_elsewhere: Callable[[str, str], None] = lambda *_: None,
        left: Callable[[str, str], None] = lambda *_: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`keep_s` is how long requests are kept after they were read here, by `clock`: a record of another clock, or
        this machine's time when it is set, makes no others expire.
        """
        self._keep_s = keep_s
        self._read_elsewhere = read_elsewhere
        self._left = left
        self._clock = clock
        self._by_id: OrderedDict[str, KnownRequest] = OrderedDict()
        self._by_key: dict[tuple[str, int], KnownRequest] = {}
        self._latest: dict[str, KnownRequest] = {}
        """The last attempt of each key."""
        self._by_fingerprint: defaultdict[str, list[KnownRequest]] = defaultdict(list)
        self._stopped: dict[str, StoppedRecord] = {}
        """How answers were stopped, by message id."""
        self._names = _Names()

    def __len__(self) -> int:
        return len(self._by_id)

    def take(self, record: ConsumerRecord) -> None:
        """Take the next record of a partition of the topic."""
        request = read_request(record.value)
        conversation = conversation_in_key(record.key)
        if request is None or not conversation:
            return
        if isinstance(request, ReaderRecord):
            self._read_elsewhere(conversation, request.message_id)
        if isinstance(request, LeftRecord):
            self._left(conversation, request.message_id)
        if isinstance(request, StoppedRecord):
            self._stop(conversation, request)
        if not isinstance(request, RequestRecord) or request.message_id in self._by_id:
            return
        read_at = self._clock()
        self._expire(read_at)
        if request.key and (request.key, request.attempt) in self._by_key:
            return  # the first one counts
        known = KnownRequest(
            conversation,
            request.message_id,
            request.api,
            request.fingerprint,
            request.key,
            request.attempt,
            request.stays,
            min(record.timestamp, int(time.time() * 1000)),
            _model_of(request),
            read_at,
        )
        self._by_id[known.message_id] = known
        self._by_fingerprint[known.fingerprint].append(known)
        if known.api == "responses":
            self._names.keep(known.message_id, declared_namespaces(request.body))
        if known.key:
            self._by_key[known.key, known.attempt] = self._latest[known.key] = known

    def _stop(self, conversation: str, stopped: StoppedRecord) -> None:
        """Record that an answer was stopped. A stop by a client replaces one for lack of a reader."""
        known, before = self._by_id.get(stopped.message_id), self._stopped.get(stopped.message_id)
        if known is not None and known.conversation == conversation and (before is None or before.abandoned):
            self._stopped[stopped.message_id] = stopped

    def stopped(self, message_id: str) -> StoppedRecord | None:
        """Return the record that stopped an answer; None if it was not stopped."""
        return self._stopped.get(message_id)

    def namespaces(self, message_id: str) -> Namespaces:
        """The client's names of the tools in namespaces that an answer may call."""
        return self._names.of(message_id)

    def by_id(self, message_id: str) -> KnownRequest | None:
        """Return the request whose answer has this id, or None."""
        return self._by_id.get(message_id)

    def by_key(self, key: str, attempt: int | None = None) -> KnownRequest | None:
        """Return the first request with this key and attempt, or None. Without `attempt`, the last attempt counts."""
        return self._latest.get(key) if attempt is None else self._by_key.get((key, attempt))

    def by_fingerprint(self, fingerprint: str, since_ms: int) -> KnownRequest | None:
        """Return the only request since this time that a retry can repeat; None if there is none, or more than one.

        `since_ms` is since the epoch. Only requests of the last attempt count.
        """
        found = [known for known in self._by_fingerprint.get(fingerprint, ()) if known.time_ms >= since_ms]
        last = max((known.attempt for known in found), default=0)
        latest = [known for known in found if known.attempt == last]
        return latest[0] if len(latest) == 1 else None

    def _expire(self, now: float) -> None:
        """Drop the oldest requests: those read `keep_s` ago, and those that leave no room for one more."""
        while self._by_id:
            known = next(iter(self._by_id.values()))
            if len(self._by_id) < KNOWN_KEPT and known.read_at >= now - self._keep_s:
                return
            del self._by_id[known.message_id]
            self._stopped.pop(known.message_id, None)
            self._names.drop(known.message_id)
            self._by_key.pop((known.key, known.attempt), None)
            if self._latest.get(known.key) is known:
                del self._latest[known.key]
            same = self._by_fingerprint[known.fingerprint]
            same.remove(known)
            if not same:
                del self._by_fingerprint[known.fingerprint]


def _model_of(request: RequestRecord) -> str:
    """Return the model of a request to the Responses API; empty for other APIs, and for a body that is not valid."""
    if request.api != "responses":
        return ""
    try:
        return msgspec.json.decode(request.body, type=_BodyModel).model[:MODEL_CHARS]
    except NOT_JSON:
        return ""
