package orphangc.flink;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.rpc.RpcSystem;
import org.apache.flink.runtime.rpc.RpcSystemUtils;

/** How Flink spells RPC addresses; only clusters without high availability ask, so the RPC system is loaded on demand. */
final class RpcAddresses implements AutoCloseable {

    private final Configuration configuration;
    private RpcSystem loaded;

    RpcAddresses(Configuration configuration) {
        this.configuration = configuration;
    }

    RpcSystemUtils utils() {
        return (RpcSystemUtils)
                Proxy.newProxyInstance(
                        RpcSystemUtils.class.getClassLoader(),
                        new Class<?>[] {RpcSystemUtils.class},
                        (proxy, method, arguments) -> {
                            if (loaded == null) {
                                loaded = RpcSystem.load(configuration);
                            }
                            try {
                                return method.invoke(loaded, arguments);
                            } catch (InvocationTargetException e) {
                                throw e.getCause();
                            }
                        });
    }

    @Override
    public void close() throws Exception {
        if (loaded != null) {
            loaded.close();
        }
    }
}
