"""What ships beside the program: chart, image, alerts, dashboard; tested with the real tools."""
