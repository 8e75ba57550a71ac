"""A run of the agent loop in the background. A person watches it, pauses it, and can act for the planner."""

from __future__ import annotations

import logging
import threading
import uuid
from dataclasses import dataclass

from core.agents.agent import AgentService, AgentTask
from core.domain.errors import WayfareError
from core.domain.execution import SESSION_OWNER, SessionOwner
from core.domain.people import for_person
from core.planning.base import Action, Turn
from core.planning.plans import AgentEvent, Stopped

_log = logging.getLogger(__name__)
ENDED = "Ended by hand."


class _EndedError(Exception): ...


@dataclass(frozen=True, slots=True)
class Proposal:
    turn: Turn
    action: Action


class SupervisedAgent:
    """One question. Thread-safe. While it is `paused`, each action of the planner waits as the `proposal` until the person answers it."""

    def __init__(self, service: AgentService, task: AgentTask, *, paused: bool = False) -> None:
        """Raises PlannerError without a model."""
        self.id = uuid.uuid4().hex[:8]
        self.task = task
        self.run = service.start(task, self._review)
        self.problem = ""
        self._events: list[AgentEvent] = []
        self._changed = threading.Condition()
        self.paused = paused
        self._ended = self.done = False
        self.proposal: Proposal | None = None
        self._answer: Action | None = None
        threading.Thread(target=for_person(self._work), name="wayfare-agent", daemon=True).start()

    @property
    def events(self) -> tuple[AgentEvent, ...]:
        return tuple(self._events)

    @property
    def unfinished(self) -> bool:
        return bool(self.problem) or any(isinstance(event, Stopped) and not event.done for event in self._events)

    def pause(self) -> None:
        with self._changed:
            self.paused = True

    def go_on(self) -> None:
        with self._changed:
            self.paused, self.proposal = False, None
            self._changed.notify_all()

    def answer(self, action: Action) -> None:
        """Replace the proposal by an action, and wait again before the next one. Does nothing without a waiting proposal."""
        with self._changed:
            if self.proposal is not None:
                self._answer, self.proposal = action, None
                self._changed.notify_all()

    def end(self) -> None:
        """Do nothing further; a call or an answer under way is cancelled."""
        with self._changed:
            self._ended, self.proposal = True, None
            self._changed.notify_all()
        self.run.watch.stop.set()
        self.run.cancel_call()

    def wait(self, limit_s: float) -> bool:
        """Wait until the run has ended or a proposal waits. Returns False after `limit_s`."""
        with self._changed:
            return self._changed.wait_for(lambda: self.done or self.proposal is not None, limit_s)

    def _review(self, turn: Turn, action: Action) -> Action:
        with self._changed:
            if self.paused and not self._ended:
                self._answer, self.proposal = None, Proposal(turn, action)
                self._changed.notify_all()
                self._changed.wait_for(lambda: self.proposal is None)
            if self._ended:
                raise _EndedError
            answer, self._answer = self._answer, None
            return action if answer is None else answer

    def _work(self) -> None:
        SESSION_OWNER.set(SessionOwner(f"page {self.id}", f"agent {self.id[:6]}"))  # a thread has its own context
        try:
            for event in self.run.events():
                self._events.append(event)
        except _EndedError:
            self.problem = ENDED
        except WayfareError as error:
            self.problem = ENDED if self._ended else str(error)
        except Exception as error:  # noqa: BLE001 - a thread of its own: the page shows every error
            _log.exception("the agent loop failed")
            self.problem = f"The loop itself failed ({type(error).__name__}); the log says where."
        finally:
            with self._changed:
                self.done = True
                self._changed.notify_all()
