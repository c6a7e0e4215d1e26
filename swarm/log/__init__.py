"""The log: one DuckDB file per study, the only memory between stages."""
