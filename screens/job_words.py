"""How jobs are named on the screens."""

import time

from explorer.schemas.jobs import JobSummary

# Beside every state stands its word; the sign only helps the eye.
STATE_STYLES = {
    "queued": "$muted",
    "running": "$primary",
    "paused": "$warning",
    "done": "$success",
    "failed": "$error",
    "cancelled": "$muted",
    "lost": "$error",
}


def when(unix_s: float) -> str:
    """Local day and time, such as `15 Jan 12:41`."""
    return time.strftime("%d %b %H:%M", time.localtime(unix_s))


def short_id(job_id: str) -> str:
    """The end of an ID, which names a job as the whole does unless two end alike."""
    return job_id.rpartition("-")[2]


def kin_line(job: JobSummary, jobs: dict[str, JobSummary]) -> str:
    """The chain of jobs that led to this one, oldest first, such as `train 7f3a → convert 81bc`."""
    chain, seen = [job], {job.id}
    while chain[0].parents and (parent := _named(chain[0].parents[0], jobs)) is not None and parent.id not in seen:
        chain.insert(0, parent)
        seen.add(parent.id)
    more = f" (and {len(job.parents) - 1} more)" if len(job.parents) > 1 else ""
    return " → ".join(f"{item.kind} {short_id(item.id)}" for item in chain) + more


def find_job(source: str, jobs: dict[str, JobSummary]) -> JobSummary | None:
    """The job that `job:ID` names, by its whole ID or a unique beginning or ending."""
    return _named(source.removeprefix("job:"), jobs) if source.startswith("job:") else None


def _named(job_id: str, jobs: dict[str, JobSummary]) -> JobSummary | None:
    if job_id in jobs:
        return jobs[job_id]
    found = [job for job in jobs.values() if job_id and (job.id.startswith(job_id) or job.id.endswith(job_id))]
    return found[0] if len(found) == 1 else None
