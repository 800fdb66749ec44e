"""Statements of the worker that Procrastinate does not have, for its schema since version 3.4.

The queue is `galley`, its only task `galley.run`. A worker owns a call while the row contains its worker id.
"""

# Notify the workers: the next call of the lock can start. Procrastinate would wait for the next poll.
FINISH = """
SELECT procrastinate_finish_job_v1(id, %(status)s, %(delete_job)s),
    CASE WHEN lock IS NOT NULL
    THEN pg_notify('procrastinate_queue_v1#galley', json_build_object('type', 'job_inserted', 'job_id', id)::text) END
FROM procrastinate_jobs WHERE id = %(job_id)s AND worker_id = %(worker_id)s AND status = 'doing'
"""
FREE_KEY = """
UPDATE procrastinate_jobs j SET queueing_lock = NULL
WHERE id = %(job_id)s AND worker_id = %(worker_id)s AND status = 'doing' AND EXISTS (
    SELECT 1 FROM procrastinate_jobs o WHERE o.queueing_lock = j.queueing_lock AND o.status = 'todo')
"""
RETRY = """
SELECT procrastinate_retry_job_v2(id, now() + make_interval(secs => %(wait_s)s), %(priority)s, %(queue)s, %(lock)s)
FROM procrastinate_jobs WHERE id = %(job_id)s AND worker_id = %(worker_id)s AND status = 'doing'
"""
# A slow worker that was pruned is inserted again with its id.
BEAT = """
INSERT INTO procrastinate_workers (id, last_heartbeat) OVERRIDING SYSTEM VALUE VALUES (%(worker_id)s, now())
ON CONFLICT (id) DO UPDATE SET last_heartbeat = now()
"""
NOTE_FAILURE = """
INSERT INTO background_job_notes (job_id, failures, error) VALUES (%(job_id)s, 1, %(error)s)
ON CONFLICT (job_id) DO UPDATE SET failures = background_job_notes.failures + 1, error = excluded.error RETURNING failures
"""
NOTE_PROGRESS = """
INSERT INTO background_job_notes (job_id, done, total)
SELECT id, %(done)s, %(total)s FROM procrastinate_jobs WHERE id = %(job_id)s
ON CONFLICT (job_id) DO UPDATE SET done = excluded.done, total = excluded.total
"""
REQUEUE_EXPIRED = """
WITH lost AS (
    SELECT j.id FROM procrastinate_jobs j LEFT JOIN procrastinate_workers w ON w.id = j.worker_id
    WHERE j.status = 'doing' AND j.task_name = 'galley.run'
        AND (w.id IS NULL OR w.last_heartbeat < now() - make_interval(secs => %(lease_s)s))
    ORDER BY j.id LIMIT 1 FOR UPDATE OF j SKIP LOCKED
), note AS (
    INSERT INTO background_job_notes (job_id, kills, error)
    SELECT id, 1, CASE WHEN %(limit)s <= 1 THEN %(poisoned)s END FROM lost
    ON CONFLICT (job_id) DO UPDATE SET kills = background_job_notes.kills + 1,
        error = CASE WHEN background_job_notes.kills + 1 >= %(limit)s THEN %(poisoned)s ELSE background_job_notes.error END
    RETURNING job_id, kills
)
UPDATE procrastinate_jobs j SET worker_id = NULL, scheduled_at = NULL, attempts = attempts + 1,
    status = (CASE WHEN note.kills < %(limit)s THEN 'todo'
        WHEN j.args ->> 'name' = ANY(%(periodic)s) THEN 'aborted' ELSE 'failed' END)::procrastinate_job_status,
    queueing_lock = CASE WHEN %(keyless)s OR EXISTS (
        SELECT 1 FROM procrastinate_jobs o WHERE o.queueing_lock = j.queueing_lock AND o.status = 'todo'
    ) THEN NULL ELSE queueing_lock END
FROM note WHERE j.id = note.job_id RETURNING j.id, j.status::text AS status
"""
CLOCK = "SELECT extract(epoch FROM clock_timestamp())::float AS now_s"
FIRE = """
SELECT procrastinate_defer_periodic_job_v2(
    %(queue)s, NULL, %(key)s, %(task)s, %(priority)s, %(name)s, %(slot)s, %(args)s)
"""
PURGE = """
DELETE FROM procrastinate_jobs j WHERE j.task_name = 'galley.run' AND j.status NOT IN ('todo', 'doing')
    AND ((SELECT max(e.at) FROM procrastinate_events e WHERE e.job_id = j.id) < now() - make_interval(
            secs => CASE WHEN j.status = 'succeeded' THEN %(retention_s)s ELSE %(dead_retention_s)s END)
        OR (j.status = 'failed' AND j.args ->> 'name' = ANY(%(periodic)s)))
"""
# The newest call of a periodic job decides whether the job counts as failed.
FORGET_FAILURES = """
DELETE FROM procrastinate_jobs
WHERE status = 'aborted' AND task_name = 'galley.run' AND args ->> 'name' = %(name)s AND id <> %(job_id)s
"""
