-- Indexes of any schema version: SQLite keeps them for whoever writes, so files of this version get them without a
-- migration, and older workers go on with those.

-- Lists of one state, of files with many jobs, nearly all of which are completed.
CREATE INDEX IF NOT EXISTS job_state ON job (namespace, state, created, id) WHERE state <> 'completed';
-- Lists without children: a page may have to pass by hundreds of thousands.
CREATE INDEX IF NOT EXISTS job_listed ON job (namespace, created, id, parent);
DROP INDEX IF EXISTS job_created;
