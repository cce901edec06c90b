package orphangc.flink;

import java.lang.reflect.Field;

/**
 * How many checkpoints of a job may be pending at once: a job's own setting, which no service is told.
 *
 * <p>The callback that comes with each completed checkpoint holds on to the coordinator, which knows.
 */
final class Concurrency {

    private static final String COORDINATOR = "org.apache.flink.runtime.checkpoint.CheckpointCoordinator";

    private Concurrency() {}

    /** Returns {@code null} if this Flink does not tell. */
    static Integer of(Runnable callback) {
        try {
            for (Field field : callback.getClass().getDeclaredFields()) {
                field.setAccessible(true);
                Object captured = field.get(callback);
                if (captured != null && captured.getClass().getName().equals(COORDINATOR)) {
                    Object decider = RegistryReader.field(captured.getClass(), "requestDecider").get(captured);
                    return RegistryReader.field(decider.getClass(), "maxConcurrentCheckpointAttempts").getInt(decider);
                }
            }
        } catch (Exception e) { // of reflection; the number is a help, no condition
            return null;
        }
        return null;
    }
}
