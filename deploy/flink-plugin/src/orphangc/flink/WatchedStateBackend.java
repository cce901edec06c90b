package orphangc.flink;

import java.io.Serializable;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.LinkedHashSet;
import java.util.Set;

import org.apache.flink.runtime.execution.Environment;
import org.apache.flink.runtime.state.OperatorStateBackend;
import org.apache.flink.runtime.state.StateBackend;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A state backend that does what its delegate does, in every release: the methods of {@code StateBackend} differ between
 * them, so they are passed on as they come.
 *
 * <p>Keyed state backends are handed out as they are: no record passes this class. Operator state backends are handed out
 * behind a {@link WatchedOperatorState}; they are asked when a task starts and when it takes a snapshot.
 */
final class WatchedStateBackend implements InvocationHandler, Serializable {

    private static final long serialVersionUID = 1L;
    private static final Logger LOG = LoggerFactory.getLogger(WatchedStateBackend.class);

    /** The operator that the task's thread restores: its keyed state first, then its operator state. */
    private static final ThreadLocal<RestoredOperator> RESTORED = new ThreadLocal<>();

    private final StateBackend delegate;
    private final UnclaimedSettings settings;

    private WatchedStateBackend(StateBackend delegate, UnclaimedSettings settings) {
        this.delegate = delegate;
        this.settings = settings;
    }

    static StateBackend over(StateBackend delegate, UnclaimedSettings settings) {
        Set<Class<?>> interfaces = new LinkedHashSet<>();
        interfaces.add(StateBackend.class);
        for (Class<?> type = delegate.getClass(); type != null; type = type.getSuperclass()) {
            for (Class<?> each : type.getInterfaces()) {
                interfaces.add(each);
            }
        }
        return (StateBackend)
                Proxy.newProxyInstance(
                        delegate.getClass().getClassLoader(),
                        interfaces.toArray(new Class<?>[0]),
                        new WatchedStateBackend(delegate, settings));
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
        if (method.getName().equals("equals")) {
            return proxy == arguments[0];
        }
        Object result;
        try {
            result = method.invoke(delegate, arguments);
        } catch (InvocationTargetException e) {
            throw e.getTargetException();
        }
        switch (method.getName()) {
            case "configure":
                return over((StateBackend) result, settings);
            case "createKeyedStateBackend":
            case "createAsyncKeyedStateBackend":
                watchKeyed(arguments, result);
                return result;
            case "createOperatorStateBackend":
                return watchedOperator(arguments, (OperatorStateBackend) result);
            default:
                return result;
        }
    }

    private void watchKeyed(Object[] arguments, Object backend) {
        try {
            RestoredOperator operator = operator(arguments);
            if (operator != null) {
                operator.keyed(backend);
                RESTORED.set(operator);
            }
        } catch (Throwable e) {
            stayOut("keyed state", e);
        }
    }

    private OperatorStateBackend watchedOperator(Object[] arguments, OperatorStateBackend backend) {
        try {
            RestoredOperator operator = operator(arguments);
            return operator == null ? backend : WatchedOperatorState.over(backend, operator);
        } catch (Throwable e) {
            stayOut("operator state", e);
            return backend;
        }
    }

    private static void stayOut(String what, Throwable e) {
        LOG.warn("unclaimed {} is not looked for: this Flink has other classes than those of 1.15 to 2.3", what, e);
    }

    /** Returns {@code null} if nothing is to be looked for. */
    private RestoredOperator operator(Object[] arguments) throws ReflectiveOperationException {
        if (settings.hasChangelog) {
            LOG.info("unclaimed state is not looked for: the changelog state backend registers all that it restores");
            return null;
        }
        Environment environment = null;
        String identifier = null;
        for (Object each : arguments) { // up to Flink 1.18 one by one, since 1.19 in one object
            if (each instanceof Environment) {
                environment = (Environment) each;
            } else if (each instanceof String && identifier == null) {
                identifier = (String) each;
            }
        }
        if (environment == null && arguments.length == 1) {
            environment = (Environment) got(arguments[0], "getEnv");
            identifier = (String) got(arguments[0], "getOperatorIdentifier");
        }
        if (environment == null || identifier == null) {
            throw new NoSuchMethodException("no environment or operator among the arguments");
        }
        return operator(environment, identifier);
    }

    /** A thread ends with its task, and so does what it holds here. */
    private RestoredOperator operator(Environment environment, String identifier) {
        RestoredOperator before = RESTORED.get();
        RESTORED.remove();
        return before != null && before.isOf(environment, identifier)
                ? before
                : new RestoredOperator(environment, identifier, settings);
    }

    private static Object got(Object parameters, String getter) throws ReflectiveOperationException {
        Method method = parameters.getClass().getMethod(getter);
        method.setAccessible(true);
        return method.invoke(parameters);
    }
}
