import java.io.DataInputStream;
import java.io.FileInputStream;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.metadata.CheckpointMetadata;
import org.apache.flink.runtime.state.IncrementalKeyedStateHandle.HandleAndLocalPath;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupsStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.OperatorStateHandle;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.changelog.ChangelogStateBackendHandle;
import org.apache.flink.runtime.state.changelog.ChangelogStateHandleStreamImpl;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;

/** Prints which files a checkpoint refers to, as Flink itself reads it: the folder, a tab, a path. */
public class FileReferences {
    public static void main(String[] folders) throws Exception {
        for (String folder : folders) {
            try (DataInputStream in = new DataInputStream(new FileInputStream(folder + "/_metadata"))) {
                ClassLoader loader = FileReferences.class.getClassLoader();
                CheckpointMetadata read = Checkpoints.loadCheckpointMetadata(in, loader, "file:" + folder);
                for (OperatorState operator : read.getOperatorStates()) {
                    for (OperatorSubtaskState subtask : operator.getSubtaskStates().values()) {
                        print(folder, subtask);
                    }
                }
            }
        }
    }

    private static void print(String folder, OperatorSubtaskState subtask) {
        for (KeyedStateHandle keyed : subtask.getManagedKeyedState()) {
            print(folder, keyed);
        }
        for (OperatorStateHandle each : subtask.getManagedOperatorState()) {
            print(folder, each.getDelegateStateHandle());
        }
        for (OperatorStateHandle each : subtask.getRawOperatorState()) {
            print(folder, each.getDelegateStateHandle());
        }
    }

    private static void print(String folder, KeyedStateHandle keyed) {
        if (keyed instanceof IncrementalRemoteKeyedStateHandle) {
            IncrementalRemoteKeyedStateHandle state = (IncrementalRemoteKeyedStateHandle) keyed;
            print(folder, state.getMetaDataStateHandle());
            for (HandleAndLocalPath each : state.getSharedState()) {
                print(folder, each.getHandle());
            }
            for (HandleAndLocalPath each : state.getPrivateState()) {
                print(folder, each.getHandle());
            }
        } else if (keyed instanceof KeyGroupsStateHandle) {
            print(folder, ((KeyGroupsStateHandle) keyed).getDelegateStateHandle());
        } else if (keyed instanceof ChangelogStateBackendHandle) {
            ChangelogStateBackendHandle state = (ChangelogStateBackendHandle) keyed;
            for (KeyedStateHandle each : state.getMaterializedStateHandles()) {
                print(folder, each);
            }
            for (KeyedStateHandle each : state.getNonMaterializedStateHandles()) {
                print(folder, each);
            }
        } else if (keyed instanceof ChangelogStateHandleStreamImpl) {
            for (Tuple2<StreamStateHandle, Long> each : ((ChangelogStateHandleStreamImpl) keyed).getHandlesAndOffsets()) {
                print(folder, each.f0);
            }
        } else {
            throw new IllegalStateException("unexpected " + keyed.getClass() + " " + keyed);
        }
    }

    private static void print(String folder, StreamStateHandle handle) {
        if (handle instanceof FileStateHandle) {
            System.out.println(folder + "\t" + ((FileStateHandle) handle).getFilePath().getPath());
        }
    }
}
