"""What a retention policy is about, in words and as a picture: for terminals and pages."""
