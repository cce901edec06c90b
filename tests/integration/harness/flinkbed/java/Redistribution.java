import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.InputStreamReader;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.stream.Collectors;

import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.OperatorIDPair;
import org.apache.flink.runtime.checkpoint.Checkpoints;
import org.apache.flink.runtime.checkpoint.JobManagerTaskRestore;
import org.apache.flink.runtime.checkpoint.OperatorState;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.StateAssignmentOperation;
import org.apache.flink.runtime.checkpoint.metadata.CheckpointMetadata;
import org.apache.flink.runtime.executiongraph.DefaultSubtaskAttemptNumberStore;
import org.apache.flink.runtime.executiongraph.ExecutionJobVertex;
import org.apache.flink.runtime.executiongraph.InternalExecutionGraphAccessor;
import org.apache.flink.runtime.jobgraph.JobVertex;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.jobgraph.OperatorID;
import org.apache.flink.runtime.operators.coordination.CoordinatorStoreImpl;
import org.apache.flink.runtime.scheduler.DefaultVertexParallelismInfo;
import org.apache.flink.runtime.state.IncrementalRemoteKeyedStateHandle;
import org.apache.flink.runtime.state.KeyGroupsStateHandle;
import org.apache.flink.runtime.state.KeyedStateHandle;
import org.apache.flink.runtime.state.OperatorStateHandle;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.changelog.ChangelogStateBackendHandle;
import org.apache.flink.runtime.state.changelog.ChangelogStateHandleStreamImpl;
import org.apache.flink.runtime.state.changelog.inmemory.InMemoryChangelogStateHandle;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.runtime.state.filesystem.RelativeFileStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;

/**
 * What Flink itself assigns when a checkpoint is restored with another parallelism: each operator alone in a vertex of
 * that parallelism, through StateAssignmentOperation. Arguments: the parallelisms. Standard input: a checkpoint folder a
 * line. Standard output: one JSON document a line, in that order.
 */
public final class Redistribution {

    private static final int LARGEST = 32768;

    public static void main(String[] parallelisms) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String folder = input.readLine(); folder != null; folder = input.readLine()) {
            Map<String, Object> answers = new TreeMap<>();
            for (String parallelism : parallelisms) {
                Map<String, Object> operators = new TreeMap<>();
                // read anew each time: Flink's repartitioner changes the handles that it is given
                for (OperatorState state : read(Paths.get(folder)).getOperatorStates()) {
                    operators.put(state.getOperatorID().toString(), assigned(state, Integer.parseInt(parallelism)));
                }
                answers.put(parallelism, operators);
            }
            System.out.println(json(answers));
        }
    }

    private static CheckpointMetadata read(Path folder) throws Exception {
        try (DataInputStream stream = new DataInputStream(Files.newInputStream(folder.resolve("_metadata")))) {
            return Checkpoints.loadCheckpointMetadata(
                    stream, Redistribution.class.getClassLoader(), "file://" + folder);
        }
    }

    private static Object assigned(OperatorState state, int parallelism) throws Exception {
        ExecutionJobVertex vertex = vertex(state.getOperatorID(), parallelism);
        try {
            operation(vertex, state).assignStates();
        } catch (IllegalStateException refusal) {
            return Collections.singletonMap("refused", refusal.getMessage());
        }
        List<Object> subtasks = new ArrayList<>();
        for (int index = 0; index < parallelism; index++) {
            subtasks.add(subtask(
                    vertex.getTaskVertices()[index].getCurrentExecutionAttempt().getTaskRestore(),
                    state.getOperatorID()));
        }
        return subtasks;
    }

    /** The vertex does not say its largest parallelism, as with a job that does not configure one. */
    private static ExecutionJobVertex vertex(OperatorID operator, int parallelism) throws Exception {
        JobVertex vertex = new JobVertex(
                "alone",
                JobVertexID.fromHexString(operator.toString()),
                Collections.singletonList(OperatorIDPair.generatedIDOnly(operator)));
        vertex.setParallelism(parallelism);
        Function<Integer, Optional<String>> anyMaximum = maximum -> Optional.empty();
        Map<Class<?>, Object> known = Map.of(
                InternalExecutionGraphAccessor.class, graph(),
                JobVertex.class, vertex,
                DefaultVertexParallelismInfo.class, new DefaultVertexParallelismInfo(parallelism, LARGEST, anyMaximum),
                CoordinatorStoreImpl.class, new CoordinatorStoreImpl(),
                DefaultSubtaskAttemptNumberStore.class, new DefaultSubtaskAttemptNumberStore(Collections.emptyList()));
        Constructor<?> constructor = ExecutionJobVertex.class.getDeclaredConstructors()[0];
        ExecutionJobVertex made =
                (ExecutionJobVertex) constructor.newInstance(arguments(constructor.getParameterTypes(), known));
        Method initialize = null;
        for (Method each : ExecutionJobVertex.class.getDeclaredMethods()) {
            boolean isShorter = initialize == null || each.getParameterCount() < initialize.getParameterCount();
            if (each.getName().equals("initialize") && isShorter) {
                initialize = each;
            }
        }
        initialize.setAccessible(true);
        initialize.invoke(made, arguments(initialize.getParameterTypes(), known));
        return made;
    }

    /** A graph that knows nothing but its id; where an answer is not optional, it is the simplest. */
    private static InternalExecutionGraphAccessor graph() {
        return (InternalExecutionGraphAccessor) Proxy.newProxyInstance(
                Redistribution.class.getClassLoader(),
                new Class<?>[] {InternalExecutionGraphAccessor.class},
                (proxy, method, arguments) -> {
                    switch (method.getName()) {
                        case "getJobID":
                            return new JobID();
                        case "getUserClassLoader":
                            return Redistribution.class.getClassLoader();
                        case "getFutureExecutor":
                            return (Executor) Runnable::run;
                        case "getExecutionGraphID":
                            return method.getReturnType().getDeclaredConstructor().newInstance();
                        case "isDynamic":
                            return false;
                        default:
                            return null;
                    }
                });
    }

    private static Object[] arguments(Class<?>[] types, Map<Class<?>, Object> known) throws Exception {
        Object[] values = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
            Class<?> type = types[i];
            values[i] = type == int.class ? (Object) 1 : type == long.class ? (Object) 0L
                    : known.values().stream().filter(type::isInstance).findFirst().orElse(null);
            if (values[i] == null && type.getSimpleName().matches("Time|Duration")) { // a timeout, unused
                values[i] = type.getMethod(type.getSimpleName().equals("Time") ? "seconds" : "ofSeconds", long.class)
                        .invoke(null, 1L);
            }
        }
        return values;
    }

    private static StateAssignmentOperation operation(ExecutionJobVertex vertex, OperatorState state) throws Exception {
        Constructor<?> constructor = StateAssignmentOperation.class.getConstructors()[0];
        List<Object> values = new ArrayList<>();
        values.add(1L);
        values.add(Collections.singleton(vertex));
        values.add(Collections.singletonMap(state.getOperatorID(), state));
        while (values.size() < constructor.getParameterCount()) {
            values.add(false); // no state may be left over; channel state is not recovered early
        }
        return (StateAssignmentOperation) constructor.newInstance(values.toArray());
    }

    private static Object subtask(JobManagerTaskRestore restore, OperatorID operator) {
        Map<String, Object> told = new TreeMap<>();
        if (restore == null) {
            return told;
        }
        if (restore.getTaskStateSnapshot().isTaskDeployedAsFinished()) {
            told.put("finished", true);
            return told;
        }
        OperatorSubtaskState state = restore.getTaskStateSnapshot().getSubtaskStateByOperatorID(operator);
        told.put("managed_operator", operatorStates(state.getManagedOperatorState()));
        told.put("raw_operator", operatorStates(state.getRawOperatorState()));
        told.put("managed_keyed", keyedStates(state.getManagedKeyedState()));
        told.put("raw_keyed", keyedStates(state.getRawKeyedState()));
        told.values().removeIf(each -> ((List<?>) each).isEmpty());
        return told;
    }

    private static List<Object> operatorStates(Collection<OperatorStateHandle> handles) {
        List<Object> states = new ArrayList<>();
        for (OperatorStateHandle handle : handles) {
            handle.getStateNameToPartitionOffsets().forEach((name, meta) -> {
                Map<String, Object> told = new TreeMap<>();
                told.put("name", name);
                told.put("mode", meta.getDistributionMode().name());
                told.put("offsets", longs(meta.getOffsets()));
                told.put("handle", stream(handle.getDelegateStateHandle()));
                states.add(told);
            });
        }
        return states;
    }

    private static List<Object> keyedStates(Collection<? extends KeyedStateHandle> handles) {
        return handles.stream().map(Redistribution::keyed).collect(Collectors.toList());
    }

    private static Object keyed(KeyedStateHandle handle) {
        Map<String, Object> told = new TreeMap<>();
        told.put("key_groups", List.of(
                handle.getKeyGroupRange().getStartKeyGroup(), handle.getKeyGroupRange().getEndKeyGroup()));
        if (handle instanceof KeyGroupsStateHandle) {
            List<Object> offsets = new ArrayList<>();
            ((KeyGroupsStateHandle) handle).getGroupRangeOffsets().forEach(each -> offsets.add(each.f1));
            told.put("offsets", offsets);
            told.put("handle", stream(((KeyGroupsStateHandle) handle).getDelegateStateHandle()));
        } else if (handle instanceof IncrementalRemoteKeyedStateHandle) {
            told.put("handle", stream((StreamStateHandle) get(handle, "getMeta(Data)?StateHandle")));
        } else if (handle instanceof ChangelogStateBackendHandle) {
            ChangelogStateBackendHandle changelog = (ChangelogStateBackendHandle) handle;
            told.put("materialized", keyedStates(changelog.getMaterializedStateHandles()));
            told.put("increments", keyedStates(changelog.getNonMaterializedStateHandles()));
        } else if (handle instanceof ChangelogStateHandleStreamImpl) {
            told.put("handles", ((ChangelogStateHandleStreamImpl) handle)
                    .getHandlesAndOffsets().stream().map(each -> stream(each.f0)).collect(Collectors.toList()));
        } else if (!(handle instanceof InMemoryChangelogStateHandle)) {
            throw new IllegalArgumentException("a keyed handle that nobody expected: " + handle);
        }
        return told;
    }

    private static String stream(StreamStateHandle handle) {
        if (handle instanceof ByteStreamStateHandle) {
            return "bytes " + ((ByteStreamStateHandle) handle).getHandleName();
        }
        if (handle instanceof RelativeFileStateHandle) {
            return "relative " + ((RelativeFileStateHandle) handle).getRelativePath();
        }
        if (handle instanceof FileStateHandle) {
            return "file " + ((FileStateHandle) handle).getFilePath();
        }
        if (handle instanceof KeyGroupsStateHandle) { // its inner key groups play no part
            return stream(((KeyGroupsStateHandle) handle).getDelegateStateHandle());
        }
        return segment(handle);
    }

    /** Only since 1.20 are there merged files. */
    private static String segment(StreamStateHandle handle) {
        if (handle.getClass().getSimpleName().startsWith("Empty")) {
            return "empty-segment";
        }
        return "segment " + get(handle, "getFilePath") + " " + get(handle, "getStartPos") + " "
                + get(handle, "getStateSize");
    }

    /** A getter that has another name, or is not there, in other releases. */
    private static Object get(Object handle, String pattern) {
        for (Method each : handle.getClass().getMethods()) {
            if (each.getName().matches(pattern)) {
                try {
                    return each.invoke(handle);
                } catch (IllegalAccessException | InvocationTargetException err) {
                    throw new IllegalArgumentException("cannot ask " + handle, err);
                }
            }
        }
        throw new IllegalArgumentException("a handle that nobody expected: " + handle);
    }

    private static List<Object> longs(long[] values) {
        List<Object> list = new ArrayList<>();
        for (long value : values) {
            list.add(value);
        }
        return list;
    }

    private static String json(Object value) {
        if (value instanceof Map) {
            return ((Map<?, ?>) value).entrySet().stream()
                    .map(each -> json(each.getKey()) + ":" + json(each.getValue()))
                    .collect(Collectors.joining(",", "{", "}"));
        }
        if (value instanceof List) {
            return ((List<?>) value).stream().map(Redistribution::json).collect(Collectors.joining(",", "[", "]"));
        }
        return value instanceof String ? quoted((String) value) : String.valueOf(value);
    }

    private static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char each : text.toCharArray()) {
            boolean isPlain = each >= ' ' && each < 127 && each != '"' && each != '\\';
            out.append(isPlain ? String.valueOf(each) : String.format("\\u%04x", (int) each));
        }
        return out.append('"').toString();
    }
}
