"""What text, Markdown and pages about plans and runs share."""
