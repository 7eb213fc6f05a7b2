"""Every error Rapport raises on purpose.

AppError                      one sentence for a person: what is wrong and what to do
├── SettingsError             a setting is missing or unusable
├── AssetError                a prompt, rubric or phrase file is broken
├── SourceError               a file or archive to import is not what it should be
├── StudyError                a study file is wrong: unknown model, rubric, dataset, field
├── ModelError                a model did not answer usefully
│   ├── ModelUnavailable      it may answer later: 429, 5xx, time-out, dropped connection
│   ├── ModelRefused          it declined, or the provider's filter did
│   ├── ContextOverflow       the request is longer than the model takes
│   ├── EmptyReply            it answered with nothing
│   └── ModelMisconfigured    bad key, unknown model, unsupported parameter: nothing will help
├── Cancelled                 a person stopped it
├── RunFailed                 a runner met something that nobody foresaw
└── StoreError                the database refused
    ├── StoreUnavailable      it may answer later: locked, restarting, connection lost
    ├── NotFound              no such row
    └── AlreadyDecided        somebody else was first, or the row is fixed
StatsError (ValueError)       in core.stats.types
"""


class AppError(Exception):
    """A fault that a person can act on; its text is one sentence for that person."""


class SettingsError(AppError):
    pass


class AssetError(AppError):
    pass


class SourceError(AppError):
    pass


class StudyError(AppError):
    pass


class ModelError(AppError):
    """A model did not answer usefully. `attempts` counts the requests that were sent.

    `cost_usd` is what the last of them cost, by `tokens_in` and `tokens_out` where the provider
    counted any: None when nobody knows, 0 when the provider said why it did not answer.
    """

    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None

    def __init__(self, message: str, *, attempts: int = 1) -> None:
        super().__init__(message)
        self.attempts = attempts


class ModelUnavailable(ModelError):
    """May succeed later; `retry_after` is the provider's own wish in seconds, if it named one."""

    def __init__(
        self, message: str, *, attempts: int = 1, retry_after: float | None = None
    ) -> None:
        super().__init__(message, attempts=attempts)
        self.retry_after = retry_after


class ModelRefused(ModelError):
    pass


class ContextOverflow(ModelError):
    pass


class EmptyReply(ModelError):
    pass


class ModelMisconfigured(ModelError):
    cost_usd = 0.0


class Cancelled(AppError):
    pass


class RunFailed(AppError):
    pass


class StoreError(AppError):
    pass


class StoreUnavailable(StoreError):
    pass


class NotFound(StoreError):
    pass


class AlreadyDecided(StoreError):
    pass
