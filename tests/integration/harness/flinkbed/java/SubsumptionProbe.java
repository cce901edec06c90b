package orphangc.flink;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.stream.Collectors;

import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.fs.Path;
import org.apache.flink.core.fs.local.LocalFileSystem;
import org.apache.flink.runtime.checkpoint.CheckpointProperties;
import org.apache.flink.runtime.checkpoint.CheckpointRetentionPolicy;
import org.apache.flink.runtime.checkpoint.CompletedCheckpoint;
import org.apache.flink.runtime.state.SharedStateRegistryImpl;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.runtime.state.filesystem.FsCompletedCheckpointStorageLocation;

/**
 * What the exporter says is retained if Flink subsumes checkpoints while it reads the registry: a line for each story.
 *
 * <p>A story is what happens in the moment in which the map of the registry is read for the first time.
 */
public final class SubsumptionProbe {

    private static final JobID JOB = new JobID();

    public static void main(String[] arguments) throws Exception {
        say("nothing", of(1, 2), export -> {});
        say("subsumed", of(1, 2), export -> add(export, 2, 3));
        say("all subsumed", of(1), export -> add(export, 2));
        Thread reader = Thread.currentThread();
        say("subsumed slowly", of(1, 2), export -> {
            export.adding();
            Thread flink = new Thread(() -> {
                while (reader.getState() != Thread.State.TIMED_WAITING) {
                    Thread.yield();
                }
                export.retain(of(2, 3));
            });
            flink.setDaemon(true);
            flink.start();
        });
    }

    private interface Story {
        void happens(JobExport export);
    }

    private static void add(JobExport export, long... now) {
        export.adding();
        export.retain(of(now));
    }

    private static void say(String what, List<CompletedCheckpoint> before, Story story) throws Exception {
        RegistryMap registered = new RegistryMap();
        SharedStateRegistryImpl registry = new SharedStateRegistryImpl();
        Field states = RegistryReader.field(SharedStateRegistryImpl.class, "registeredStates");
        states.set(registry, registered);
        Configuration configuration = new Configuration();
        configuration.setString("orphangc.registry.dir", "file:///nowhere");
        IssuedIds issued = new IssuedIds();
        JobExport export = new JobExport(JOB, null, Settings.from(configuration), new RegistryReader(registry),
                () -> Collections.singletonList(issued));
        export.recovered(before);
        registered.story = () -> story.happens(export);
        Snapshot snapshot = export.take();
        String found = snapshot == null
                ? "none"
                : snapshot.retained.stream().map(each -> String.valueOf(each.id)).collect(Collectors.joining(" "));
        System.out.println(what + "\t" + found);
    }

    /** The registry's map, whose values are asked for once a reading. */
    private static final class RegistryMap extends HashMap<Object, Object> {
        private static final long serialVersionUID = 1L;
        private transient Runnable story;

        @Override
        public Collection<Object> values() {
            Runnable once = story;
            story = null;
            if (once != null) {
                once.run();
            }
            return super.values();
        }
    }

    private static List<CompletedCheckpoint> of(long... ids) {
        return Arrays.stream(ids).mapToObj(SubsumptionProbe::checkpoint).collect(Collectors.toCollection(ArrayList::new));
    }

    private static CompletedCheckpoint checkpoint(long id) {
        Path folder = new Path("file:///nowhere/" + JOB + "/chk-" + id);
        return new CompletedCheckpoint(JOB, id, 0, 1, new HashMap<>(), Collections.emptyList(),
                CheckpointProperties.forCheckpoint(CheckpointRetentionPolicy.RETAIN_ON_CANCELLATION),
                new FsCompletedCheckpointStorageLocation(LocalFileSystem.getSharedInstance(), folder,
                        new FileStateHandle(new Path(folder, "_metadata"), 1), folder.toString()),
                null);
    }
}
