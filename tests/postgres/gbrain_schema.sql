-- The four tables as gbrain 0.46.28 (schema 140) makes them, written from their documented columns, checks and indexes.
CREATE TABLE minion_jobs (
  id SERIAL PRIMARY KEY, name TEXT NOT NULL, queue TEXT NOT NULL DEFAULT 'default', status TEXT NOT NULL DEFAULT 'waiting', priority INTEGER NOT NULL DEFAULT 0,
  data JSONB NOT NULL DEFAULT '{}', max_attempts INTEGER NOT NULL DEFAULT 3, attempts_made INTEGER NOT NULL DEFAULT 0, attempts_started INTEGER NOT NULL DEFAULT 0,
  backoff_type TEXT NOT NULL DEFAULT 'exponential', backoff_delay INTEGER NOT NULL DEFAULT 1000, backoff_jitter REAL NOT NULL DEFAULT 0.2,
  stalled_counter INTEGER NOT NULL DEFAULT 0, max_stalled INTEGER NOT NULL DEFAULT 5, lock_token TEXT, lock_until TIMESTAMPTZ, delay_until TIMESTAMPTZ,
  parent_job_id INTEGER REFERENCES minion_jobs(id) ON DELETE SET NULL, on_child_fail TEXT NOT NULL DEFAULT 'fail_parent',
  tokens_input INTEGER NOT NULL DEFAULT 0, tokens_output INTEGER NOT NULL DEFAULT 0, tokens_cache_read INTEGER NOT NULL DEFAULT 0,
  depth INTEGER NOT NULL DEFAULT 0, max_children INTEGER, timeout_ms INTEGER, lock_duration_ms INTEGER, timeout_at TIMESTAMPTZ,
  remove_on_complete BOOLEAN NOT NULL DEFAULT FALSE, remove_on_fail BOOLEAN NOT NULL DEFAULT FALSE, idempotency_key TEXT,
  private_queue_owner_job_id INTEGER REFERENCES minion_jobs(id), private_queue_owner_token TEXT, private_queue_lease_until TIMESTAMPTZ,
  result JSONB, progress JSONB, error_text TEXT, stacktrace JSONB DEFAULT '[]',
  created_at TIMESTAMPTZ NOT NULL DEFAULT now(), started_at TIMESTAMPTZ, finished_at TIMESTAMPTZ, updated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  CHECK (status IN ('waiting', 'active', 'completed', 'failed', 'delayed', 'dead', 'cancelled', 'waiting-children', 'paused')),
  CHECK (backoff_type IN ('fixed', 'exponential')), CHECK (on_child_fail IN ('fail_parent', 'remove_dep', 'ignore', 'continue')),
  CHECK (backoff_jitter BETWEEN 0 AND 1), CHECK (attempts_made <= attempts_started), CHECK (lock_duration_ms IS NULL OR lock_duration_ms BETWEEN 5000 AND 3600000)
);
CREATE TABLE subagent_messages (
  id BIGSERIAL PRIMARY KEY, job_id BIGINT NOT NULL REFERENCES minion_jobs(id) ON DELETE CASCADE, message_idx INTEGER NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('user', 'assistant')), content_blocks JSONB NOT NULL, schema_version INTEGER NOT NULL DEFAULT 1, provider_id TEXT,
  tokens_in INTEGER, tokens_out INTEGER, tokens_cache_read INTEGER, tokens_cache_create INTEGER, model TEXT, ended_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  CONSTRAINT uniq_subagent_messages_idx UNIQUE (job_id, message_idx)
);
CREATE TABLE subagent_tool_executions (
  id BIGSERIAL PRIMARY KEY, job_id BIGINT NOT NULL REFERENCES minion_jobs(id) ON DELETE CASCADE, message_idx INTEGER NOT NULL, tool_use_id TEXT NOT NULL,
  tool_name TEXT NOT NULL, input JSONB NOT NULL, status TEXT NOT NULL CHECK (status IN ('pending', 'complete', 'failed')), output JSONB, error TEXT,
  schema_version INTEGER NOT NULL DEFAULT 1, provider_id TEXT, ordinal INTEGER, gbrain_tool_use_id UUID,
  started_at TIMESTAMPTZ NOT NULL DEFAULT now(), ended_at TIMESTAMPTZ,
  CONSTRAINT subagent_tool_executions_stable_id UNIQUE (job_id, message_idx, ordinal)
);
CREATE TABLE subagent_rate_leases (
  id BIGSERIAL PRIMARY KEY, key TEXT NOT NULL, owner_job_id BIGINT NOT NULL REFERENCES minion_jobs(id) ON DELETE CASCADE,
  acquired_at TIMESTAMPTZ NOT NULL DEFAULT now(), expires_at TIMESTAMPTZ NOT NULL
);
CREATE TABLE config (key TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO config VALUES ('version', '140');
