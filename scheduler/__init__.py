"""Home: from experiment to queue, from queue to ledger."""
