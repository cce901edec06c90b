"""Phase 3: live set, evidence for each job, survey of the listing."""
