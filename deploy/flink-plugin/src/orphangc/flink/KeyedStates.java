package orphangc.flink;

import java.io.Closeable;
import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

import org.apache.flink.core.fs.CloseableRegistry;

/**
 * The states of one keyed state backend: RocksDB and ForSt keep them in {@code kvStateInformation}, the heap in {@code
 * registeredKVStates}; both hold what was restored before the job registers anything.
 *
 * <p>A state is claimed once the backend has made an object for it, or has registered it anew.
 */
final class KeyedStates {

    private static final String TIMERS = "_timer_state";

    private final Object backend;
    private final boolean isOnHeap;
    private final Map<String, Object> states;
    private final Map<String, Object> restored;

    @SuppressWarnings("unchecked")
    KeyedStates(Object backend) throws ReflectiveOperationException {
        this.backend = backend;
        Object columns = value(backend, "kvStateInformation");
        this.isOnHeap = columns == null;
        this.states = (Map<String, Object>) (isOnHeap ? value(backend, "registeredKVStates") : columns);
        if (states == null) {
            throw new NoSuchFieldException("neither kvStateInformation nor registeredKVStates in " + backend.getClass());
        }
        this.restored = new HashMap<>(states);
        restored.keySet().removeIf(name -> name.startsWith(TIMERS));
    }

    boolean isEmpty() {
        return restored.isEmpty();
    }

    Set<String> unclaimed() throws ReflectiveOperationException {
        Set<String> claimed = new HashSet<>();
        claimed.addAll(map(backend, "keyValueStatesByName").keySet()); // without it nothing would seem claimed
        if (value(backend, "createdKVStates") != null) {
            claimed.addAll(map(backend, "createdKVStates").keySet());
        }
        Set<String> left = new TreeSet<>();
        for (Map.Entry<String, Object> each : restored.entrySet()) {
            if (!claimed.contains(each.getKey()) && states.get(each.getKey()) == each.getValue()) {
                left.add(each.getKey());
            }
        }
        return left;
    }

    /** Returns the form of each state that the job has registered, by its name; a form that is unknown is left out. */
    Map<String, String> registered() throws ReflectiveOperationException {
        Set<String> left = isEmpty() ? new HashSet<>() : unclaimed();
        Map<String, String> found = new HashMap<>();
        for (Map.Entry<String, Object> each : states.entrySet()) {
            if (!each.getKey().startsWith(TIMERS) && !left.contains(each.getKey())) {
                Object meta = value(each.getValue(), "metaInfo");
                String form = String.valueOf(meta.getClass().getMethod("getStateType").invoke(meta));
                if (!form.equals("UNKNOWN")) {
                    found.put(each.getKey(), form);
                }
            }
        }
        return found;
    }

    /** Returns why states cannot be dropped here, {@code null} if they can. */
    String objection() throws ReflectiveOperationException {
        String type = backend.getClass().getSimpleName();
        if (type.equals("HeapKeyedStateBackend")) {
            return null;
        }
        if (!type.equals("RocksDBKeyedStateBackend")) {
            return "that is tested with RocksDB and the heap only, not with " + type;
        }
        if (value(backend, "nativeMetricMonitor") != null) {
            return "RocksDB's native metrics read each column family until the end of the task: turn them off";
        }
        return value(backend, "db") == null || !(value(backend, "cancelStreamRegistry") instanceof CloseableRegistry)
                ? "this release keeps its column families in another way"
                : null;
    }

    /** Drops a state, in the task's thread: no later snapshot holds it. */
    void drop(String name) throws Exception {
        if (isOnHeap) {
            states.remove(name);
            return;
        }
        Object handle = value(states.get(name), "columnFamilyHandle");
        Object db = value(backend, "db");
        db.getClass().getMethod("dropColumnFamily", handle.getClass()).invoke(db, handle);
        states.remove(name);
        // snapshots that began before may still read it; the registry is closed with the backend, before the database
        ((CloseableRegistry) value(backend, "cancelStreamRegistry")).registerCloseable(closing((AutoCloseable) handle));
    }

    private static Closeable closing(AutoCloseable handle) {
        return () -> {
            try {
                handle.close();
            } catch (Exception e) {
                throw new java.io.IOException(e);
            }
        };
    }

    /** Returns a field's value, {@code null} if there is no such field. */
    static Object value(Object owner, String name) throws ReflectiveOperationException {
        for (Class<?> type = owner.getClass(); type != null; type = type.getSuperclass()) {
            for (Field field : type.getDeclaredFields()) {
                if (field.getName().equals(name)) {
                    field.setAccessible(true);
                    return field.get(owner);
                }
            }
        }
        return null;
    }

    /** Returns a map that is a private field, for another class of this package. */
    @SuppressWarnings("unchecked")
    static Map<String, Object> map(Object owner, String name) throws ReflectiveOperationException {
        Object found = value(owner, name);
        if (!(found instanceof Map)) {
            throw new NoSuchFieldException(name + " in " + owner.getClass());
        }
        return (Map<String, Object>) found;
    }
}
