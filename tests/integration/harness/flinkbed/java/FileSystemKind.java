package org.apache.flink.core.fs;

/** What Flink 2 no longer has, and earlier releases ask each file system for. */
public enum FileSystemKind {
    FILE_SYSTEM,
    OBJECT_STORE
}
