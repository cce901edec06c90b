"""Phase 6: check the evidence again, right before each batch and after it."""
