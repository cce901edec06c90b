"""Phase 4: verdict for every listed object, and the plan."""
