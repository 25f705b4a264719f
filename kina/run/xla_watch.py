"""Inside the child that runs XLA: a thread that ends it when its parent or another process is gone.

The main thread cannot see that while it is inside XLA, where it may wait for the lost process for ever.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Sequence
from threading import Lock, Thread, Timer
from time import sleep
from typing import IO

from kina.run.wire import Message, send
from kina.run.xla_ending import ELSEWHERE
from kina.run.xla_meeting import Meeting, RefusedError
from kina.sim.dtypes import Array

#: Seconds between two looks at the parent and the other processes.
_LOOK = 1.0
#: Seconds for the last words to the other processes.
_GRACE = 3.0


class Watch:
    """The answers to the parent, which two threads give, and what the watching thread needs to know."""

    def __init__(self, answers: IO[bytes]) -> None:
        self._answers = answers
        self._lock = Lock()
        self._parent = os.getppid()
        self.meeting: Meeting | None = None
        #: The run is over, and the others may end before this process does.
        self.leaving = False
        Thread(target=self._look, daemon=True).start()

    def answer(self, message: Message, arrays: Sequence[Array] = ()) -> None:
        """Give an answer, whole. OSError if the parent has gone."""
        with self._lock:
            send(self._answers, message, arrays)

    def fail(self, problem: RefusedError) -> None:
        """Give the last answer, let the other processes know of it, and end, without waiting for them."""
        meeting, said = self.meeting, {"error": str(problem), "help": problem.help, "code": problem.code}
        with self._lock:
            try:
                if meeting is not None and problem.code == 2:
                    meeting.post(str(problem))
                send(self._answers, said)
                if meeting is not None:
                    meeting.linger()
            finally:
                os._exit(1)

    def _look(self) -> None:
        while True:
            if self._parent_gone():
                self._end()
            if self.meeting is not None and not self.leaving and (note := self.meeting.heard()):
                self.fail(RefusedError(note, ELSEWHERE, 1))

    def _parent_gone(self) -> bool:
        """Whether the parent has closed the standard input, by its end or on purpose; waits if not."""
        if hasattr(select, "poll"):
            closing = select.poll()
            closing.register(sys.stdin.fileno(), 0)
            closed = any(event & select.POLLHUP for _, event in closing.poll(_LOOK * 1000))
        else:
            sleep(_LOOK)
            closed = False
        return closed or os.getppid() != self._parent

    def _end(self) -> None:
        """End with a note for the others, but in any case soon."""
        Timer(_GRACE, os._exit, (1,)).start()
        if self.meeting is not None and not self.leaving:
            self.meeting.post("")
            self.meeting.linger()
        os._exit(1)
