"""What commands share: options, output, progress, exit codes."""
