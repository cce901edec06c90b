"""One module for each thing outside: storages, Flink's REST API, the state location."""
