"""What texts in resources say: options, files, command lines, arguments; read strictly."""
