"""The tables of gbrain (schema 140) that a subagent's run is kept in, with the columns and rules that its worker and a repair go by."""

SCHEMA = """\
-- The demo's subagent jobs of gbrain: read this file as an export, or load it into an empty database.
SET standard_conforming_strings = on;
CREATE TABLE minion_jobs (
  id SERIAL PRIMARY KEY,
  name TEXT NOT NULL,
  queue TEXT NOT NULL DEFAULT 'default',
  status TEXT NOT NULL DEFAULT 'waiting',
  data JSONB NOT NULL DEFAULT '{}',
  max_attempts INTEGER NOT NULL DEFAULT 3,
  attempts_made INTEGER NOT NULL DEFAULT 0,
  attempts_started INTEGER NOT NULL DEFAULT 0,
  lock_token TEXT,
  lock_until TIMESTAMPTZ,
  delay_until TIMESTAMPTZ,
  parent_job_id INTEGER REFERENCES minion_jobs(id) ON DELETE SET NULL,
  result JSONB,
  error_text TEXT,
  created_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  started_at TIMESTAMPTZ,
  finished_at TIMESTAMPTZ,
  updated_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  CHECK (status IN ('waiting', 'active', 'completed', 'failed', 'delayed', 'dead', 'cancelled', 'waiting-children', 'paused')),
  CHECK (attempts_made <= attempts_started)
);
CREATE TABLE subagent_messages (
  id BIGSERIAL PRIMARY KEY,
  job_id BIGINT NOT NULL REFERENCES minion_jobs(id) ON DELETE CASCADE,
  message_idx INTEGER NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
  content_blocks JSONB NOT NULL,
  schema_version INTEGER NOT NULL DEFAULT 1,
  provider_id TEXT,
  tokens_in INTEGER,
  tokens_out INTEGER,
  tokens_cache_read INTEGER,
  tokens_cache_create INTEGER,
  model TEXT,
  ended_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  CONSTRAINT uniq_subagent_messages_idx UNIQUE (job_id, message_idx)
);
CREATE TABLE subagent_tool_executions (
  id BIGSERIAL PRIMARY KEY,
  job_id BIGINT NOT NULL REFERENCES minion_jobs(id) ON DELETE CASCADE,
  message_idx INTEGER NOT NULL,
  tool_use_id TEXT NOT NULL,
  tool_name TEXT NOT NULL,
  input JSONB NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('pending', 'complete', 'failed')),
  output JSONB,
  error TEXT,
  schema_version INTEGER NOT NULL DEFAULT 1,
  provider_id TEXT,
  ordinal INTEGER,
  gbrain_tool_use_id UUID,
  started_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  ended_at TIMESTAMPTZ,
  CONSTRAINT subagent_tool_executions_stable_id UNIQUE (job_id, message_idx, ordinal)
);
CREATE TABLE subagent_rate_leases (
  id BIGSERIAL PRIMARY KEY,
  key TEXT NOT NULL,
  owner_job_id BIGINT NOT NULL REFERENCES minion_jobs(id) ON DELETE CASCADE,
  acquired_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  expires_at TIMESTAMPTZ NOT NULL
);
"""
