package orphangc.flink;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;

/**
 * The other way in, where {@code high-availability.type} must stay as it is: {@code -javaagent:<this jar>} on a JobManager.
 *
 * <p>Flink's {@code ClusterEntrypoint} calls {@code HighAvailabilityServicesUtils.createHighAvailabilityServices}. That one
 * call is made to go to {@link RegistryExporterServices}, which does the same and watches the result. In the same way a
 * restore goes through {@link RestoredCheckpoints}. Should a release call either otherwise, its class stays as it is.
 */
public final class RegistryExporterAgent {

    private static final String CALLER = "org/apache/flink/runtime/entrypoint/ClusterEntrypoint";
    private static final String CALLED = "org/apache/flink/runtime/highavailability/HighAvailabilityServicesUtils";
    private static final String METHOD = "createHighAvailabilityServices";
    private static final String OURS = "orphangc/flink/RegistryExporterServices";

    private static final String RESTORER = "org/apache/flink/runtime/checkpoint/CheckpointCoordinator";
    private static final String CHECKPOINTS = "org/apache/flink/runtime/checkpoint/Checkpoints";
    private static final String LOAD = "loadAndValidateCheckpoint";

    /** That of {@link RestoredCheckpoints}; Flink 1.15 has one parameter more. */
    private static final String LOADS =
            "(Lorg/apache/flink/api/common/JobID;Ljava/util/Map;"
                    + "Lorg/apache/flink/runtime/state/CompletedCheckpointStorageLocation;Ljava/lang/ClassLoader;Z"
                    + "Lorg/apache/flink/runtime/checkpoint/CheckpointProperties;)"
                    + "Lorg/apache/flink/runtime/checkpoint/CompletedCheckpoint;";

    private static final String OUR_CHECKPOINTS = "orphangc/flink/RestoredCheckpoints";

    private RegistryExporterAgent() {}

    /** Called by Java before Flink's main method. */
    public static void premain(String arguments, Instrumentation instrumentation) {
        instrumentation.addTransformer(new Redirecting());
    }

    private static final class Redirecting implements ClassFileTransformer {
        @Override
        public byte[] transform(
                ClassLoader loader, String name, Class<?> defined, ProtectionDomain domain, byte[] bytes) {
            if (CALLER.equals(name)) {
                return redirected(bytes, CALLED, METHOD, null, OURS, "no registry snapshots are exported");
            }
            if (RESTORER.equals(name)) {
                return redirected(bytes, CHECKPOINTS, LOAD, LOADS, OUR_CHECKPOINTS, "no coordinator state is looked for");
            }
            return null;
        }

        private static byte[] redirected(
                byte[] bytes, String type, String method, String signature, String ours, String effect) {
            try {
                byte[] redirected = new ConstantPool(bytes).redirect(type, method, signature, ours);
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
