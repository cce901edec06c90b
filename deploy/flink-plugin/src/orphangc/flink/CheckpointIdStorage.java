package orphangc.flink;

import java.io.IOException;

import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.runtime.state.CheckpointStorageAccess;
import org.apache.flink.runtime.state.CompletedCheckpointStorageLocation;
import org.apache.flink.runtime.state.ConfigurableCheckpointStorage;
import org.apache.flink.runtime.state.storage.FileSystemCheckpointStorage;

/** Flink's file system storage with other names for shared files. */
public final class CheckpointIdStorage implements ConfigurableCheckpointStorage {

    private static final long serialVersionUID = 1L;

    private final FileSystemCheckpointStorage storage;

    CheckpointIdStorage(FileSystemCheckpointStorage storage) {
        this.storage = storage;
    }

    @Override
    public CheckpointIdStorage configure(ReadableConfig config, ClassLoader classLoader) {
        Unsupported.refuse(config);
        return new CheckpointIdStorage(storage.configure(config, classLoader));
    }

    @Override
    public CompletedCheckpointStorageLocation resolveCheckpoint(String externalPointer) throws IOException {
        return storage.resolveCheckpoint(externalPointer);
    }

    @Override
    public CheckpointStorageAccess createCheckpointStorage(JobID jobId) throws IOException {
        return new CheckpointIdStorageAccess(
                storage.createCheckpointStorage(jobId),
                storage.getCheckpointPath().getFileSystem(),
                storage.getMinFileSizeThreshold(),
                storage.getWriteBufferSize());
    }
}
