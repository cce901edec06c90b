package orphangc.flink;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;

import org.apache.flink.core.fs.FileStatus;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.fs.Path;
import org.apache.flink.runtime.checkpoint.CompletedCheckpoint;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The declarations of a running job, learnt from what its operators have registered: {@code declarations.yaml} beside the
 * folder of its registry snapshots, in the format that {@code orphangc declare} writes.
 *
 * <p>TaskManagers write the parts ({@link LearntOperators}); only those since this JobManager began count, for an earlier
 * version of the job may have had the same id. A checkpoint says which operators have a coordinator, and who is missing.
 */
final class LearntDeclarations {

    private static final Logger LOG = LoggerFactory.getLogger(LearntDeclarations.class);
    private static final Pattern NAME = Pattern.compile("[0-9a-f]{32}-[0-9a-f-]{36}\\.json");

    private final Path file;
    private final Path parts;
    private final Path began;
    private final Map<String, Part> read = new TreeMap<>();
    private String written = "";
    private boolean isBroken;

    private volatile CompletedCheckpoint newest;

    LearntDeclarations(Path folder, Path began) {
        this.file = new Path(folder, "declarations.yaml");
        this.parts = new Path(folder, LearntOperators.FOLDER);
        this.began = began;
    }

    /** Notes a checkpoint of the job, on Flink's thread. */
    void completed(CompletedCheckpoint checkpoint) {
        newest = checkpoint;
    }

    /** Writes the file if it would say something else; the job's operators say their uid hashes. Nothing of it may harm an export. */
    void write(List<JobOperator> job) {
        try {
            FileSystem fs = file.getFileSystem();
            if (!readParts(fs)) {
                return;
            }
            String text = text(job);
            if (!text.equals(written)) {
                replace(fs, text.getBytes(StandardCharsets.UTF_8));
                written = text;
            }
            isBroken = false;
        } catch (Throwable error) {
            if (!isBroken) {
                LOG.warn("Learnt declarations cannot be written to {}", file, error);
            }
            isBroken = true;
        }
    }

    /** Reads new parts; returns whether there is one. */
    private boolean readParts(FileSystem fs) throws IOException {
        FileStatus[] all = listed(fs);
        if (all == null || all.length == 0) {
            return false;
        }
        long since = fs.getFileStatus(began).getModificationTime();
        for (FileStatus each : all) {
            String name = each.getPath().getName();
            long time = each.getModificationTime();
            Part known = read.get(name);
            if (!NAME.matcher(name).matches()) {
                continue;
            }
            if (time < since) { // of an earlier start of the job: one that still lives writes it again
                fs.delete(each.getPath(), false);
            } else if (known == null || known.time != time) {
                read(fs, each.getPath(), time);
            }
        }
        return !read.isEmpty();
    }

    private void read(FileSystem fs, Path path, long time) {
        try (InputStream in = fs.open(path)) {
            JsonNode operators = new ObjectMapper().readTree(in).path("operators");
            if (operators.isArray()) {
                read.put(path.getName(), new Part(time, operators));
            }
        } catch (Exception e) { // half written: the next export finds it whole
            LOG.debug("A part of the learnt declarations cannot be read: {}", path, e);
        }
    }

    private FileStatus[] listed(FileSystem fs) throws IOException {
        try {
            return fs.listStatus(parts);
        } catch (FileNotFoundException e) {
            return null;
        }
    }

    private String text(List<JobOperator> job) {
        Map<String, Operator> operators = new TreeMap<>();
        read.values().forEach(part -> part.operators.forEach(each ->
                operators.computeIfAbsent(each.path("id").asText(), Operator::new).add(each)));
        Set<String> silent = new TreeSet<>();
        CompletedCheckpoint checkpoint = newest;
        if (checkpoint != null) {
            checkpoint.getOperatorStates().values().forEach(state -> add(state, operators, silent));
        }
        for (JobOperator each : job) {
            Operator operator = operators.get(each.id);
            if (operator != null) {
                operator.uidHash = each.uidHash;
                operator.uid = each.uid == null ? operator.uid : each.uid;
            }
        }
        StringBuilder text = new StringBuilder("# learnt by orphangc from the running job: what its operators have registered\n");
        for (String id : silent) {
            text.append("# missing: operator ").append(id).append(" has state, and none of its subtasks was heard yet\n");
        }
        text.append("version: 1\noperators:\n");
        operators.values().forEach(each -> each.addTo(text));
        return text.toString();
    }

    private static void add(OperatorState state, Map<String, Operator> operators, Set<String> silent) {
        String id = state.getOperatorID().toString();
        boolean hasCoordinator = state.getCoordinatorState() != null;
        if (hasCoordinator) {
            operators.computeIfAbsent(id, Operator::new).hasCoordinator = true;
        }
        Operator operator = operators.get(id);
        if (hasSubtaskState(state) && (operator == null || !operator.isHeard)) {
            silent.add(id);
        }
        if (operator != null) {
            operator.uid = text(state, "getOperatorUid").orElse(null);
            operator.name = text(state, "getOperatorName").orElse(operator.name);
        }
    }

    private static boolean hasSubtaskState(OperatorState state) {
        return state.getStates().stream().anyMatch(each -> each.hasState());
    }

    /** Returns what a checkpoint says of an operator since Flink 2.0. */
    private static Optional<String> text(OperatorState state, String getter) {
        try {
            Method method = OperatorState.class.getMethod(getter);
            return ((Optional<?>) method.invoke(state)).map(String::valueOf).filter(each -> !each.isEmpty());
        } catch (ReflectiveOperationException e) {
            return Optional.empty();
        }
    }

    /** A reader finds the old file or the new one; on object stores that is so without a rename. */
    private void replace(FileSystem fs, byte[] bytes) throws IOException {
        boolean isObjectStore = SnapshotFolder.isObjectStore(fs);
        Path target = isObjectStore ? file : new Path(file.getParent(), "declarations.partial");
        try (OutputStream out = fs.create(target, FileSystem.WriteMode.OVERWRITE)) {
            out.write(bytes);
        }
        if (!isObjectStore && !fs.rename(target, file)) {
            fs.delete(file, false);
            if (!fs.rename(target, file)) {
                throw new IOException("cannot rename " + target + " to " + file);
            }
        }
    }

    private static final class Part {
        final long time;
        final JsonNode operators;

        Part(long time, JsonNode operators) {
            this.time = time;
            this.operators = operators;
        }
    }

    /** One operator of the file. */
    private static final class Operator {
        private final String id;
        private final Map<String, String> keyed = new TreeMap<>();
        private final Map<String, String> lists = new TreeMap<>();
        private String uid;
        private String uidHash;
        private String name;
        private boolean hasCoordinator;
        private boolean isHeard;

        Operator(String id) {
            this.id = id;
        }

        void add(JsonNode part) {
            isHeard = true;
            name = part.path("name").asText(null);
            part.path("keyed_states").forEach(each -> keyed.put(each.path("id").asText(), each.path("type").asText()));
            part.path("operator_states")
                    .forEach(each -> lists.put(each.path("id").asText(), each.path("redistribution").asText()));
        }

        void addTo(StringBuilder text) {
            text.append("- id: ").append(Json.quoted(id)).append('\n');
            if (uidHash != null) {
                text.append("  uid_hash: ").append(Json.quoted(uidHash)).append('\n');
            }
            if (uid != null) {
                text.append("  uid: ").append(Json.quoted(uid)).append('\n');
            }
            if (name != null && !name.isEmpty()) {
                text.append("  name: ").append(Json.quoted(name)).append('\n');
            }
            addTo(text, "keyed_states", keyed, "type");
            addTo(text, "operator_states", lists, "redistribution");
            if (hasCoordinator) {
                text.append("  coordinator: true\n");
            }
        }

        private static void addTo(StringBuilder text, String field, Map<String, String> states, String form) {
            if (!states.isEmpty()) {
                text.append("  ").append(field).append(":\n");
                states.forEach((state, value) -> text.append("  - id: ").append(Json.quoted(state)).append("\n    ")
                        .append(form).append(": ").append(value).append('\n'));
            }
        }
    }
}
