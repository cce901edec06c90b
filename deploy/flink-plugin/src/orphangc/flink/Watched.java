package orphangc.flink;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.checkpoint.CheckpointIDCounter;
import org.apache.flink.runtime.checkpoint.CheckpointRecoveryFactory;
import org.apache.flink.runtime.checkpoint.CompletedCheckpoint;
import org.apache.flink.runtime.checkpoint.CompletedCheckpointStore;
import org.apache.flink.runtime.highavailability.HighAvailabilityServices;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Flink's own objects behind dynamic proxies that look on.
 *
 * <p>A proxy passes every call on as it is, and its answer or exception back. What looks on may fail in any way: it is
 * logged and Flink sees nothing of it. Proxies do not mind that the interfaces differ from release to release.
 */
final class Watched {

    private static final Logger LOG = LoggerFactory.getLogger(Watched.class);

    private Watched() {}

    /** Returns the services, watched if snapshots are asked for. */
    static HighAvailabilityServices services(HighAvailabilityServices services, Configuration configuration) {
        try {
            Settings settings = Settings.from(configuration);
            if (settings == null) {
                LOG.warn("{} is not set: no registry snapshots are exported", Settings.DIRECTORY.key());
                return services;
            }
            return isWatched(services) ? services : services(services, new Exports(settings));
        } catch (Throwable error) {
            LOG.error("No registry snapshots are exported", error);
            return services;
        }
    }

    private static HighAvailabilityServices services(HighAvailabilityServices services, Exports exports) {
        return proxy(
                HighAvailabilityServices.class,
                services,
                new Watcher() {
                    @Override
                    public void before(String call, Object[] arguments) {
                        if (call.startsWith("close") || call.equals("cleanupAllData")) {
                            exports.close();
                        }
                    }

                    @Override
                    public Object after(String call, Object[] arguments, Object answer, long begun) {
                        return call.equals("getCheckpointRecoveryFactory")
                                ? recoveryFactory((CheckpointRecoveryFactory) answer, exports)
                                : answer;
                    }
                });
    }

    private static CheckpointRecoveryFactory recoveryFactory(CheckpointRecoveryFactory factory, Exports exports) {
        return proxy(
                CheckpointRecoveryFactory.class,
                factory,
                (call, arguments, answer, begun) -> {
                    if (answer instanceof CompletedCheckpointStore) {
                        return store((CompletedCheckpointStore) answer, arguments, exports);
                    }
                    if (answer instanceof CheckpointIDCounter) {
                        return counter((CheckpointIDCounter) answer, argument(JobID.class, arguments), exports);
                    }
                    return answer;
                });
    }

    private static CheckpointIDCounter counter(CheckpointIDCounter counter, JobID job, Exports exports) {
        IssuedIds issued = exports.begin(job);
        return proxy(
                CheckpointIDCounter.class,
                counter,
                (call, arguments, answer, begun) -> {
                    if (call.equals("getAndIncrement")) {
                        issued.add((Long) answer, begun);
                    } else if (call.equals("shutdown")) {
                        exports.end(job, issued);
                    }
                    return answer;
                });
    }

    private static CompletedCheckpointStore store(
            CompletedCheckpointStore store, Object[] arguments, Exports exports) throws Exception {
        Enum<?> mode = argument(Enum.class, arguments);
        JobExport export = exports.begin(argument(JobID.class, arguments), mode == null ? null : mode.name(), store);
        return proxy(
                CompletedCheckpointStore.class,
                store,
                new Watcher() {
                    @Override
                    public void before(String call, Object[] arguments) throws Exception {
                        if (call.startsWith("addCheckpoint")) {
                            export.adding();
                        }
                        if (call.equals("shutdown")) {
                            exports.end(export);
                            // on Flink's thread, which alone may read the store
                            export.ending(argument(JobStatus.class, arguments), store.getAllCheckpoints());
                        }
                    }

                    @Override
                    public Object after(String call, Object[] arguments, Object answer, long begun) throws Exception {
                        if (call.equals("shutdown")) {
                            exports.ended(export);
                        }
                        CompletedCheckpoint added = argument(CompletedCheckpoint.class, arguments);
                        if (added != null && call.startsWith("addCheckpoint")) {
                            // on Flink's thread, which alone may read the store
                            export.added(added, store.getAllCheckpoints(), argument(Runnable.class, arguments));
                        }
                        return answer;
                    }

                    @Override
                    public void failed(String call) throws Exception {
                        if (call.startsWith("addCheckpoint")) {
                            export.retain(store.getAllCheckpoints());
                        }
                    }
                });
    }

    /** Looks on at the calls of one object. */
    private interface Watcher {

        default void before(String call, Object[] arguments) throws Exception {}

        /** Returns the answer, or what stands for it; {@code begun} is when the call began. */
        Object after(String call, Object[] arguments, Object answer, long begun) throws Exception;

        /** Looks on at a call that ended with an exception, which goes back to Flink. */
        default void failed(String call) throws Exception {}
    }

    private static <T> T proxy(Class<T> type, T target, Watcher watcher) {
        Object made =
                Proxy.newProxyInstance(
                        Watched.class.getClassLoader(), new Class<?>[] {type}, new Passing(target, watcher));
        return type.cast(made);
    }

    private static boolean isWatched(Object object) {
        return Proxy.isProxyClass(object.getClass()) && Proxy.getInvocationHandler(object) instanceof Passing;
    }

    private static final class Passing implements InvocationHandler {
        private final Object target;
        private final Watcher watcher;

        Passing(Object target, Watcher watcher) {
            this.target = target;
            this.watcher = watcher;
        }

        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            long begun = System.currentTimeMillis();
            try {
                watcher.before(method.getName(), arguments);
            } catch (Throwable error) {
                LOG.warn("Exporting registry snapshots failed before {}", method.getName(), error);
            }
            Object answer;
            try {
                answer = method.invoke(target, arguments);
            } catch (InvocationTargetException e) {
                failed(method.getName());
                throw e.getCause();
            }
            try {
                return watcher.after(method.getName(), arguments, answer, begun);
            } catch (Throwable error) {
                LOG.warn("Exporting registry snapshots failed after {}", method.getName(), error);
                return answer;
            }
        }

        private void failed(String call) {
            try {
                watcher.failed(call);
            } catch (Throwable error) {
                LOG.warn("Exporting registry snapshots failed after {}", call, error);
            }
        }
    }

    /** Returns the first argument of a type, {@code null} if there is none. */
    private static <T> T argument(Class<T> type, Object[] arguments) {
        if (arguments != null) {
            for (Object argument : arguments) {
                if (type.isInstance(argument)) {
                    return type.cast(argument);
                }
            }
        }
        return null;
    }
}
