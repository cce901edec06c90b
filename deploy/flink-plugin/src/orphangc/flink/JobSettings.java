package orphangc.flink;

import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.executiongraph.ExecutionGraph;

/**
 * What the JobManager knows of a job's settings, which no service is given; {@code null}: unknown.
 *
 * <p>The callback that comes with each completed checkpoint holds on to the coordinator, which knows, or knows who does.
 * They are the same from one start of the JobMaster to its end.
 *
 * <p>How files are merged is decided on each TaskManager, by the job's own configuration or else by the TaskManager's. So only
 * what the job's own configuration names is exported: the JobManager's is no answer.
 *
 * <p>Source: Flink 1.15-2.3, {@code CheckpointCoordinator.requestDecider}, {@code .checkpointPlanCalculator}; 1.20-2.3, {@code
 * TaskExecutorFileMergingManager.fileMergingSnapshotManagerForTask}, which is given {@code JobInformation.getJobConfiguration}.
 */
final class JobSettings {

    private static final String COORDINATOR = "org.apache.flink.runtime.checkpoint.CheckpointCoordinator";

    final Integer maxConcurrent;
    final String stateBackend;
    final Boolean changelog;
    final boolean canMerge;
    final Boolean merges;
    final Boolean mergesAcross;

    /** The job's operators; empty if they are unknown. */
    final List<JobOperator> operators;

    private JobSettings(Object coordinator) {
        maxConcurrent = known(Integer.class, () -> {
            Object decider = fieldOf(coordinator, "requestDecider");
            return fieldOf(decider, "maxConcurrentCheckpointAttempts");
        });
        Object graph = known(Object.class, () -> {
            Object calculator = fieldOf(coordinator, "checkpointPlanCalculator");
            return fieldOf(fieldOf(calculator, "context"), "executionGraph");
        });
        stateBackend = known(String.class, () -> ((Optional<?>) answer(graph, "getStateBackendName")).orElse(null));
        changelog = known(Boolean.class, () -> answer(answer(graph, "isChangelogStateBackendEnabled"), "getAsBoolean"));
        Object own = known(Object.class, () -> answer(graph, "getJobConfiguration"));
        canMerge = known(Object.class, () -> option("FILE_MERGING_ENABLED")) != null;
        merges = known(Boolean.class, () -> named(own, "FILE_MERGING_ENABLED"));
        mergesAcross = known(Boolean.class, () -> named(own, "FILE_MERGING_ACROSS_BOUNDARY"));
        JobOperator[] all = known(JobOperator[].class, () ->
                JobOperator.of(((ExecutionGraph) graph).getVerticesTopologically()).toArray(new JobOperator[0]));
        operators = all == null ? Collections.emptyList() : Arrays.asList(all);
    }

    /** Returns {@code null} if a callback holds on to no coordinator. */
    static JobSettings of(Runnable callback) {
        for (Field field : callback.getClass().getDeclaredFields()) {
            Object captured = known(Object.class, () -> {
                field.setAccessible(true);
                return field.get(callback);
            });
            if (captured != null && captured.getClass().getName().equals(COORDINATOR)) {
                return new JobSettings(captured);
            }
        }
        return null;
    }

    /** Returns what a configuration itself names under an option, no default; {@code null} if it names nothing. */
    private static Object named(Object configuration, String option) throws ReflectiveOperationException {
        return ((Configuration) configuration).getOptional((ConfigOption<?>) option(option)).orElse(null);
    }

    private static Object option(String name) throws ReflectiveOperationException {
        return CheckpointingOptions.class.getField(name).get(null);
    }

    private static Object fieldOf(Object holder, String name) throws ReflectiveOperationException {
        return RegistryReader.field(holder.getClass(), name).get(holder);
    }

    private static Object answer(Object asked, String method) throws ReflectiveOperationException {
        return asked.getClass().getMethod(method).invoke(asked);
    }

    private interface Question {
        Object ask() throws Exception;
    }

    /** Settings are a help and no condition: what cannot be read, in whatever way, is unknown. */
    private static <T> T known(Class<T> type, Question question) {
        try {
            return type.cast(question.ask());
        } catch (Exception | LinkageError e) {
            return null;
        }
    }
}
