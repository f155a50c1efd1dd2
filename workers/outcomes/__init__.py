"""How a run ends: results, handoffs, failures and fan-outs, each committed in one write."""
