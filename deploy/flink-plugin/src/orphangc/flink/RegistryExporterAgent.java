package orphangc.flink;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;

/**
 * The other way in, where {@code high-availability.type} must stay as it is: {@code -javaagent:<this jar>} on a JobManager.
 *
 * <p>Flink's {@code ClusterEntrypoint} calls {@code HighAvailabilityServicesUtils.createHighAvailabilityServices}. That one
 * call is made to go to {@link RegistryExporterServices}, which does the same and watches the result. In the same way a
 * restore goes through {@link RestoredCheckpoints}, and the process's metrics through {@link JobManagerMetrics}. Should a release call either otherwise, its class stays as it is.
 */
public final class RegistryExporterAgent {

    private static final String CALLER = "org/apache/flink/runtime/entrypoint/ClusterEntrypoint";
    private static final String CALLED = "org/apache/flink/runtime/highavailability/HighAvailabilityServicesUtils";
    private static final String METHOD = "createHighAvailabilityServices";
    private static final String OURS = "orphangc/flink/RegistryExporterServices";

    private static final String METRICS = "org/apache/flink/runtime/metrics/util/MetricUtils";
    private static final String GROUP = "instantiateProcessMetricGroup";
    private static final String OUR_METRICS = "orphangc/flink/JobManagerMetrics";

    private static final String RESTORER = "org/apache/flink/runtime/checkpoint/CheckpointCoordinator";
    private static final String CHECKPOINTS = "org/apache/flink/runtime/checkpoint/Checkpoints";
    private static final String LOAD = "loadAndValidateCheckpoint";

    private static final String PARAMETERS =
            "(Lorg/apache/flink/api/common/JobID;Ljava/util/Map;"
                    + "Lorg/apache/flink/runtime/state/CompletedCheckpointStorageLocation;Ljava/lang/ClassLoader;Z"
                    + "Lorg/apache/flink/runtime/checkpoint/CheckpointProperties;";

    private static final String RETURNED = ")Lorg/apache/flink/runtime/checkpoint/CompletedCheckpoint;";

    /** The last parameter that some releases have; newer ones lack its class. */
    private static final String MODE = "Lorg/apache/flink/runtime/jobgraph/RestoreMode;";

    private static final String OUR_CHECKPOINTS = "orphangc/flink/RestoredCheckpoints";

    private RegistryExporterAgent() {}

    /** Called by Java before Flink's main method. */
    public static void premain(String arguments, Instrumentation instrumentation) {
        instrumentation.addTransformer(new Redirecting());
    }

    /** Returns a changed class file, {@code null} if the call is not in it. */
    private interface Redirection {
        byte[] bytes() throws Exception;
    }

    private static final class Redirecting implements ClassFileTransformer {
        @Override
        public byte[] transform(
                ClassLoader loader, String name, Class<?> defined, ProtectionDomain domain, byte[] bytes) {
            if (CALLER.equals(name)) {
                byte[] exporting =
                        redirected(METHOD, "no registry snapshots are exported", pool(bytes, CALLED, METHOD, null, OURS));
                byte[] before = exporting == null ? bytes : exporting;
                byte[] showing =
                        redirected(GROUP, "no metrics of restores are shown", pool(before, METRICS, GROUP, null, OUR_METRICS));
                return showing == null ? exporting : showing;
            }
            return RESTORER.equals(name)
                    ? redirected(LOAD, "no coordinator state is looked for", () -> restoring(bytes))
                    : null;
        }

        private static Redirection pool(byte[] bytes, String type, String method, String signature, String ours) {
            return () -> new ConstantPool(bytes).redirect(type, method, signature, ours);
        }

        private static byte[] restoring(byte[] bytes) throws Exception {
            byte[] redirected = pool(bytes, CHECKPOINTS, LOAD, PARAMETERS + RETURNED, OUR_CHECKPOINTS).bytes();
            return redirected != null
                    ? redirected
                    : new ConstantPool(bytes).redirect(
                            CHECKPOINTS, LOAD, PARAMETERS + MODE + RETURNED, OUR_CHECKPOINTS,
                            PARAMETERS + "Ljava/lang/Object;" + RETURNED);
        }

        private static byte[] redirected(String method, String effect, Redirection redirection) {
            try {
                byte[] redirected = redirection.bytes();
                if (redirected == null) {
                    complain(effect, "this Flink calls " + method + " otherwise", null);
                }
                return redirected;
            } catch (Throwable error) { // Java would drop it silently
                complain(effect, "the call of " + method + " cannot be redirected", error);
                return null;
            }
        }

        /** Logging would load classes before Flink has set it up. */
        private static void complain(String effect, String why, Throwable error) {
            System.err.println("orphangc: " + effect + ": " + why + (error == null ? "" : ": " + error));
        }
    }
}
