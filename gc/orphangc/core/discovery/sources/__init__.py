"""What each source says: resources, pod templates, configuration files, REST; read strictly."""
