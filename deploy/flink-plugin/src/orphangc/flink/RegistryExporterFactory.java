package orphangc.flink;

import java.util.concurrent.Executor;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.IllegalConfigurationException;
import org.apache.flink.runtime.highavailability.ClientHighAvailabilityServices;
import org.apache.flink.runtime.highavailability.HighAvailabilityServices;
import org.apache.flink.runtime.highavailability.HighAvailabilityServicesFactory;
import org.apache.flink.runtime.highavailability.HighAvailabilityServicesUtils;
import org.apache.flink.runtime.rpc.AddressResolution;
import org.apache.flink.util.FatalExitExceptionHandler;

/**
 * What {@code high-availability.type} names: the real services, whose checkpoint stores are watched on a JobManager.
 *
 * <p>The real type stands in {@code orphangc.high-availability.type}: NONE (default), zookeeper, kubernetes, or a factory's
 * class name.
 */
public final class RegistryExporterFactory implements HighAvailabilityServicesFactory {

    @Override
    public HighAvailabilityServices createHAServices(Configuration configuration, Executor executor) throws Exception {
        Configuration real = realConfiguration(configuration);
        try (RpcAddresses addresses = new RpcAddresses(real)) {
            HighAvailabilityServices services =
                    HighAvailabilityServicesUtils.createHighAvailabilityServices(
                            real,
                            executor,
                            AddressResolution.NO_ADDRESS_RESOLUTION, // as JobManagers and TaskManagers ask for
                            addresses.utils(),
                            RegistryExporterFactory::die);
            return Watched.services(services, configuration);
        }
    }

    @Override
    public ClientHighAvailabilityServices createClientHAServices(Configuration configuration) throws Exception {
        return HighAvailabilityServicesUtils.createClientHAService(
                realConfiguration(configuration), RegistryExporterFactory::die);
    }

    /** Flink hands its own handler to its own services only; this is what any uncaught error in its threads does. */
    private static void die(Throwable error) {
        FatalExitExceptionHandler.INSTANCE.uncaughtException(Thread.currentThread(), error);
    }

    private static Configuration realConfiguration(Configuration configuration) {
        String type = configuration.get(Settings.DELEGATE_TYPE);
        if (type.equals(RegistryExporterFactory.class.getName())) {
            throw new IllegalConfigurationException(
                    Settings.DELEGATE_TYPE.key() + " must name the real high availability, not this factory");
        }
        Configuration real = new Configuration(configuration);
        real.set(Settings.TYPE, type);
        real.set(Settings.TYPE_BEFORE_1_17, type);
        return real;
    }
}
