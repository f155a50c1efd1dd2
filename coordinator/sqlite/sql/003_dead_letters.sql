-- Failed jobs are listed by when they failed, however many jobs there are.

CREATE INDEX job_dead ON job (namespace, updated, id) WHERE state = 'failed';
