"""Every anticipated fault of swarm, in one tree.

::

    SwarmError                     something went wrong that we can name
    ├── UsageError                 the caller can mend it: one line, exit code 2
    │   ├── StudyError             a study asks for something impossible or unknown
    │   ├── LogError               a file is not a log, or not this study's log
    │   └── ModelError             a model cannot be found, reached or used
    └── RunError                   the run broke off: one line, exit code 1, resume by repeating it
        └── WorkerDied             a worker process ended (killed, or out of memory)

The text of each carries what is wrong and how to mend it, in one line. Bugs are not in the tree:
they keep their traceback. An agent's bad reply is no exception either; it is a logged outcome
(see `swarm.repair`).
"""


class SwarmError(Exception):
    """Base of all faults that swarm anticipates."""


class UsageError(SwarmError):
    """The caller asked for something that cannot be done; the text says how to ask for it."""


class StudyError(UsageError):
    """A study has an unknown key, an impossible number, or contradicts itself."""


class LogError(UsageError):
    """A file is not a swarm log, is damaged, in use, or belongs to another study."""


class ModelError(UsageError):
    """A model name is unknown, or its provider refuses or cannot be reached."""


class RunError(SwarmError):
    """A run broke off; what was finished is in the log."""


class WorkerDied(RunError):
    """A worker process ended without an answer."""
