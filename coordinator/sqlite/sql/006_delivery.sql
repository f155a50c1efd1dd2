-- Schema version 6: when and in which order deliveries run.

ALTER TABLE job ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
