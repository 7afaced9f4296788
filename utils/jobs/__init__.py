"""Trainings as processes of their own: several side by side, stopped so that they can save."""

from utils.jobs.pool import JobPool, sigterm_as_interrupt
from utils.jobs.process import Job, job_environment, usable_cores

__all__ = ["Job", "JobPool", "job_environment", "sigterm_as_interrupt", "usable_cores"]
