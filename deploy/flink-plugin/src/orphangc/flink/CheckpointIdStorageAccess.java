package orphangc.flink;

import java.io.IOException;

import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.runtime.state.CheckpointStateOutputStream;
import org.apache.flink.runtime.state.CheckpointStateToolset;
import org.apache.flink.runtime.state.CheckpointStorageAccess;
import org.apache.flink.runtime.state.CheckpointStorageLocation;
import org.apache.flink.runtime.state.CheckpointStorageLocationReference;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.CompletedCheckpointStorageLocation;
import org.apache.flink.runtime.state.filesystem.FsCheckpointStorageLocation;

/** Flink's access; only where a task writes a checkpoint's files, the names of shared ones are ours. */
final class CheckpointIdStorageAccess implements CheckpointStorageAccess {

    private final CheckpointStorageAccess access;
    private final FileSystem fileSystem;
    private final int inlineThreshold;
    private final int bufferSize;

    CheckpointIdStorageAccess(
            CheckpointStorageAccess access, FileSystem fileSystem, int inlineThreshold, int bufferSize) {
        this.access = access;
        this.fileSystem = fileSystem;
        this.inlineThreshold = inlineThreshold;
        this.bufferSize = bufferSize;
    }

    @Override
    public CheckpointStreamFactory resolveCheckpointStorageLocation(
            long checkpointId, CheckpointStorageLocationReference reference) throws IOException {
        CheckpointStreamFactory location = access.resolveCheckpointStorageLocation(checkpointId, reference);
        if (!reference.isDefaultReference() || !(location instanceof FsCheckpointStorageLocation)) {
            return location; // a savepoint, which shares no file
        }
        return new CheckpointIdStreamFactory(
                location,
                checkpointId,
                fileSystem,
                ((FsCheckpointStorageLocation) location).getSharedStateDirectory(),
                inlineThreshold,
                bufferSize);
    }

    @Override
    public CheckpointStateOutputStream createTaskOwnedStateStream() throws IOException {
        return access.createTaskOwnedStateStream();
    }

    @Override
    public CheckpointStateToolset createTaskOwnedCheckpointStateToolset() {
        return access.createTaskOwnedCheckpointStateToolset();
    }

    @Override
    public boolean supportsHighlyAvailableStorage() {
        return access.supportsHighlyAvailableStorage();
    }

    @Override
    public boolean hasDefaultSavepointLocation() {
        return access.hasDefaultSavepointLocation();
    }

    @Override
    public CompletedCheckpointStorageLocation resolveCheckpoint(String externalPointer) throws IOException {
        return access.resolveCheckpoint(externalPointer);
    }

    @Override
    public void initializeBaseLocationsForCheckpoint() throws IOException {
        access.initializeBaseLocationsForCheckpoint();
    }

    @Override
    public CheckpointStorageLocation initializeLocationForCheckpoint(long checkpointId) throws IOException {
        return access.initializeLocationForCheckpoint(checkpointId);
    }

    @Override
    public CheckpointStorageLocation initializeLocationForSavepoint(long checkpointId, String externalPointer)
            throws IOException {
        return access.initializeLocationForSavepoint(checkpointId, externalPointer);
    }
}
