package orphangc.flink;

import java.io.IOException;
import java.util.List;

import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.fs.Path;
import org.apache.flink.runtime.state.CheckpointStateOutputStream;
import org.apache.flink.runtime.state.CheckpointStreamFactory;
import org.apache.flink.runtime.state.CheckpointedStateScope;
import org.apache.flink.runtime.state.StreamStateHandle;

/** The streams of one checkpoint of one task; those of the shared scope are ours, the others Flink's. */
final class CheckpointIdStreamFactory implements CheckpointStreamFactory {

    private final CheckpointStreamFactory streams;
    private final long checkpointId;
    private final FileSystem fileSystem;
    private final Path shared;
    private final int inlineThreshold;
    private final int bufferSize;

    CheckpointIdStreamFactory(
            CheckpointStreamFactory streams,
            long checkpointId,
            FileSystem fileSystem,
            Path shared,
            int inlineThreshold,
            int bufferSize) {
        this.streams = streams;
        this.checkpointId = checkpointId;
        this.fileSystem = fileSystem;
        this.shared = shared;
        this.inlineThreshold = inlineThreshold;
        this.bufferSize = Math.max(bufferSize, inlineThreshold);
    }

    @Override
    public CheckpointStateOutputStream createCheckpointStateOutputStream(CheckpointedStateScope scope)
            throws IOException {
        return scope == CheckpointedStateScope.SHARED
                ? new CheckpointIdOutputStream(fileSystem, shared, checkpointId, bufferSize, inlineThreshold)
                : streams.createCheckpointStateOutputStream(scope);
    }

    /** A copy made by the store would keep its source's name, and with it the id of another checkpoint. */
    @Override
    public boolean canFastDuplicate(StreamStateHandle handle, CheckpointedStateScope scope) throws IOException {
        return scope != CheckpointedStateScope.SHARED && streams.canFastDuplicate(handle, scope);
    }

    @Override
    public List<StreamStateHandle> duplicate(List<StreamStateHandle> handles, CheckpointedStateScope scope)
            throws IOException {
        if (scope == CheckpointedStateScope.SHARED) {
            throw new UnsupportedOperationException("shared files are not copied: canFastDuplicate says so");
        }
        return streams.duplicate(handles, scope);
    }

    @Override
    public String toString() {
        return "shared files of checkpoint " + checkpointId + " in " + shared + ", others by " + streams;
    }
}
