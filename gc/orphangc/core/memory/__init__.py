"""What earlier cycles saw, and what of it is lost without an explanation."""
