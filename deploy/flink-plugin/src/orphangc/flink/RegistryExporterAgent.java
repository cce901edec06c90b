package orphangc.flink;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;

/**
 * The other way in, where {@code high-availability.type} must stay as it is: {@code -javaagent:<this jar>} on a JobManager.
 *
 * <p>Flink's {@code ClusterEntrypoint} calls {@code HighAvailabilityServicesUtils.createHighAvailabilityServices}. That one
 * call is made to go to {@link RegistryExporterServices}, which does the same and watches the result. Should a release call
 * it otherwise, its class stays as it is.
 */
public final class RegistryExporterAgent {

    private static final String CALLER = "org/apache/flink/runtime/entrypoint/ClusterEntrypoint";
    private static final String CALLED = "org/apache/flink/runtime/highavailability/HighAvailabilityServicesUtils";
    private static final String METHOD = "createHighAvailabilityServices";
    private static final String OURS = "orphangc/flink/RegistryExporterServices";

    private RegistryExporterAgent() {}

    /** Called by Java before Flink's main method. */
    public static void premain(String arguments, Instrumentation instrumentation) {
        instrumentation.addTransformer(new Redirecting());
    }

    private static final class Redirecting implements ClassFileTransformer {
        @Override
        public byte[] transform(
                ClassLoader loader, String name, Class<?> defined, ProtectionDomain domain, byte[] bytes) {
            if (!CALLER.equals(name)) {
                return null;
            }
            try {
                byte[] redirected = new ConstantPool(bytes).redirect(CALLED, METHOD, OURS);
                if (redirected == null) {
                    complain("this Flink calls " + METHOD + " otherwise", null);
                }
                return redirected;
            } catch (Throwable error) { // Java would drop it silently
                complain("the call of " + METHOD + " cannot be redirected", error);
                return null;
            }
        }

        /** Logging would load classes before Flink has set it up. */
        private static void complain(String why, Throwable error) {
            System.err.println("orphangc: no registry snapshots are exported: " + why + (error == null ? "" : ": " + error));
        }
    }
}
