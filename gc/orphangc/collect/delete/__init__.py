"""Phase 6: delete in rate-limited batches, each revalidated before and after."""
