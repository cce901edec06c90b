import java.io.File;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;

import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.checkpoint.CheckpointRecoveryFactory;
import org.apache.flink.runtime.checkpoint.CompletedCheckpointStore;
import org.apache.flink.runtime.highavailability.HighAvailabilityServices;
import org.apache.flink.runtime.highavailability.HighAvailabilityServicesFactory;
import org.apache.flink.runtime.highavailability.HighAvailabilityServicesUtils;
import org.apache.flink.runtime.rpc.AddressResolution;
import org.apache.flink.runtime.rpc.RpcSystem;

/**
 * High availability for tests, to be named in "high-availability.type": on request it writes down what the shared state
 * registries hold, without a line of the plugin's code.
 *
 * <p>Where a file "request" appears in "witness.dir", each job's entries are written to a file named after the job, one
 * "path TAB created TAB last used" a line, and the request is removed. The services are made by the factory of
 * "witness.factory", or are Flink's for a cluster without high availability.
 */
public final class RegistryWitness implements HighAvailabilityServicesFactory {

    private static final ConfigOption<String> DIRECTORY = option("witness.dir");
    private static final ConfigOption<String> FACTORY = option("witness.factory");

    private final Map<String, Object> registries = new ConcurrentHashMap<>();

    private static ConfigOption<String> option(String key) {
        return ConfigOptions.key(key).stringType().noDefaultValue();
    }

    @Override
    public HighAvailabilityServices createHAServices(Configuration config, Executor executor) throws Exception {
        HighAvailabilityServices services = services(config, executor);
        return proxy(HighAvailabilityServices.class, services, (name, arguments, answer) -> {
            if (answer instanceof CheckpointRecoveryFactory) { // so this is a JobManager
                Thread thread = new Thread(() -> serve(new File(config.get(DIRECTORY))), "witness");
                thread.setDaemon(true);
                thread.start();
                return watched((CheckpointRecoveryFactory) answer);
            }
            return answer;
        });
    }

    private static HighAvailabilityServices services(Configuration config, Executor executor) throws Exception {
        String factory = config.get(FACTORY);
        if (factory != null) {
            Object made = Class.forName(factory).getDeclaredConstructor().newInstance();
            return ((HighAvailabilityServicesFactory) made).createHAServices(config, executor);
        }
        Configuration plain = new Configuration(config);
        plain.set(option("high-availability.type"), "NONE");
        plain.set(option("high-availability"), "NONE");
        try (RpcSystem rpc = RpcSystem.load(plain)) {
            return HighAvailabilityServicesUtils.createHighAvailabilityServices(
                    plain, executor, AddressResolution.NO_ADDRESS_RESOLUTION, rpc, Throwable::printStackTrace);
        }
    }

    private CheckpointRecoveryFactory watched(CheckpointRecoveryFactory factory) {
        return proxy(CheckpointRecoveryFactory.class, factory, (name, arguments, answer) -> {
            if (answer instanceof CompletedCheckpointStore) {
                Object registry = ((CompletedCheckpointStore) answer).getSharedStateRegistry();
                registries.put(arguments[0].toString(), registry);
            }
            return answer;
        });
    }

    private interface After {
        Object apply(String name, Object[] arguments, Object answer) throws Exception;
    }

    private static <T> T proxy(Class<T> type, T target, After after) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> {
            try {
                return after.apply(method.getName(), arguments, method.invoke(target, arguments));
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        }));
    }

    private void serve(File directory) {
        File request = new File(directory, "request");
        while (true) {
            try {
                if (request.exists()) {
                    for (Map.Entry<String, Object> each : registries.entrySet()) {
                        File partial = new File(directory, "partial");
                        Files.write(partial.toPath(), lines(each.getValue()), StandardCharsets.UTF_8);
                        File whole = new File(directory, each.getKey());
                        Files.move(partial.toPath(), whole.toPath(), StandardCopyOption.REPLACE_EXISTING);
                    }
                    Files.delete(request.toPath());
                }
                Thread.sleep(20);
            } catch (Exception e) {
                e.printStackTrace();
            }
        }
    }

    private static List<String> lines(Object registry) throws Exception {
        Map<?, ?> states = (Map<?, ?>) value(registry, "registeredStates");
        List<String> lines = new ArrayList<>();
        synchronized (states) {
            for (Object entry : states.values()) {
                Object handle = value(entry, "stateHandle");
                Object path = value(handle, "filePath");
                lines.add((path == null ? handle.getClass().getName() : path) + "\t" + value(entry, "createdByCheckpointID") + "\t" + value(entry, "lastUsedCheckpointID"));
            }
        }
        return lines;
    }

    private static Object value(Object object, String name) throws Exception {
        for (Class<?> type = object.getClass(); type != null; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (field.getName().equals(name)) {
                    field.setAccessible(true);
                    return field.get(object);
                }
            }
        }
        return null;
    }
}
