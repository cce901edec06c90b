package orphangc.flink;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

import org.apache.flink.runtime.checkpoint.CheckpointOptions;
import org.apache.flink.runtime.state.OperatorStateBackend;

/**
 * An operator state backend that does what the real one does, and says when a snapshot begins.
 *
 * <p>It is asked for a snapshot after the operator's own {@code snapshotState}, in the task's thread, and before the keyed
 * state of the same operator: the moment to decide.
 */
final class WatchedOperatorState implements InvocationHandler {

    private final OperatorStateBackend backend;
    private final RestoredOperator operator;

    private WatchedOperatorState(OperatorStateBackend backend, RestoredOperator operator) {
        this.backend = backend;
        this.operator = operator;
    }

    static OperatorStateBackend over(OperatorStateBackend backend, RestoredOperator operator) {
        operator.operatorState(backend);
        return (OperatorStateBackend)
                Proxy.newProxyInstance(
                        OperatorStateBackend.class.getClassLoader(),
                        new Class<?>[] {OperatorStateBackend.class},
                        new WatchedOperatorState(backend, operator));
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        String name = method.getName();
        if (name.equals("equals")) {
            return proxy == arguments[0];
        }
        if (name.equals("snapshot")) {
            operator.beforeSnapshot(isSavepoint(arguments));
        }
        try {
            return method.invoke(backend, arguments);
        } catch (InvocationTargetException e) {
            throw e.getTargetException();
        }
    }

    /** Returns whether the options of a snapshot say so; all releases give them last. */
    private static boolean isSavepoint(Object[] arguments) {
        for (Object each : arguments) {
            if (each instanceof CheckpointOptions) {
                return ((CheckpointOptions) each).getCheckpointType().isSavepoint();
            }
        }
        return false;
    }
}
