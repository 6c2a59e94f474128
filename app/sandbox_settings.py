"""Settings of the sandbox and of what the agent may run in it: a part of the worker's."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator
from pydantic_settings import BaseSettings

from app.setting_types import Commands, Count, Directories, Switch, Word


class SandboxSettings(BaseSettings):
    """What isolates commands, their limits, and which are allowed at all."""

    sandbox_backend: Literal["bubblewrap", "container", "process"] = Field(
        default="bubblewrap",
        description="What isolates the agent's commands: bubblewrap, a container of docker or podman, or "
        "nothing but another user (process), which also needs FIXWRIGHT_ALLOW_UNSANDBOXED=1 and a private "
        "repository.",
        examples=["bubblewrap"],
    )
    sandbox_image: Word = Field(
        default="",
        pattern=r"^([A-Za-z0-9][A-Za-z0-9._:/@-]*)?$",
        description="Image for the container back end, best with its digest. It must be on the machine: "
        "nothing is ever pulled during a task.",
        examples=["registry.example/tests@sha256:…"],
    )
    sandbox_engine: Word = Field(
        default="",
        pattern=r"^(podman|docker|/[^\x00]+)?$",
        description="Engine for the container back end: podman, docker, or the path of either. Empty: podman "
        "if it is there, else docker.",
        examples=["podman"],
    )
    allow_unsandboxed: Switch = Field(
        default=False,
        description="1 lets the process back end run commands without isolation, for private repositories.",
        examples=["1"],
    )
    command_policy: Literal["shell", "argv"] = Field(
        default="shell",
        description="How the agent's commands run: in bash inside the sandbox (shell), or one allowlisted "
        "program at a time that no shell ever sees (argv).",
        examples=["argv"],
    )
    allowed_commands: Commands = Field(
        default=(),
        description="Programs that the agent may run under FIXWRIGHT_COMMAND_POLICY=argv, by bare name, "
        "comma separated. Shells, downloaders and programs that start others are refused even if listed.",
        examples=["pytest,python3,git,ls,grep"],
    )
    sandbox_uid: Count = Field(
        default=59321,
        ge=1,
        le=2**31 - 1,
        description="User id that sandboxed commands get when the worker runs as root.",
        examples=["59321"],
    )
    sandbox_tools: Directories = Field(
        default=(),
        description="More directories that sandboxed commands may read and execute, separated as in PATH.",
        examples=["/opt"],
    )
    sandbox_memory_mb: Count = Field(
        default=450,
        ge=64,
        le=1_000_000,
        description="MiB of memory for sandboxed commands.",
        examples=["450"],
    )
    sandbox_disk_mb: Count = Field(
        default=300, ge=16, le=1_000_000, description="MiB that a worktree may grow to.", examples=["300"]
    )

    @model_validator(mode="after")
    def _back_end_can_be_had(self) -> Self:
        if self.sandbox_backend == "container" and not self.sandbox_image:
            raise ValueError(
                "FIXWRIGHT_SANDBOX_IMAGE: is not set, while FIXWRIGHT_SANDBOX_BACKEND=container; name an "
                "image that is on this machine; docs/how-to/sandbox.md tells how to make one"
            )
        if self.sandbox_backend == "process" and not self.allow_unsandboxed:
            raise ValueError(
                "FIXWRIGHT_ALLOW_UNSANDBOXED: is not set, while FIXWRIGHT_SANDBOX_BACKEND=process, which "
                "runs commands without isolation; FIXWRIGHT_ALLOW_UNSANDBOXED=1 allows it for private "
                "repositories, FIXWRIGHT_SANDBOX_BACKEND=bubblewrap isolates"
            )
        if self.command_policy == "argv" and not self.allowed_commands:
            raise ValueError(
                "FIXWRIGHT_ALLOWED_COMMANDS: is not set, while FIXWRIGHT_COMMAND_POLICY=argv: the agent "
                "could run nothing; for example FIXWRIGHT_ALLOWED_COMMANDS=pytest,python3,git,ls,grep"
            )
        return self
