package orphangc.flink;

import java.util.concurrent.Executor;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.highavailability.HighAvailabilityServices;
import org.apache.flink.runtime.highavailability.HighAvailabilityServicesUtils;
import org.apache.flink.runtime.rpc.AddressResolution;
import org.apache.flink.runtime.rpc.FatalErrorHandler;
import org.apache.flink.runtime.rpc.RpcSystemUtils;

/** What a JobManager under {@link RegistryExporterAgent} calls instead of Flink's method of the same name and type. */
public final class RegistryExporterServices {

    private RegistryExporterServices() {}

    /** Returns Flink's services, watched. */
    public static HighAvailabilityServices createHighAvailabilityServices(
            Configuration configuration,
            Executor executor,
            AddressResolution addressResolution,
            RpcSystemUtils rpcSystemUtils,
            FatalErrorHandler fatalErrorHandler)
            throws Exception {
        HighAvailabilityServices services =
                HighAvailabilityServicesUtils.createHighAvailabilityServices(
                        configuration, executor, addressResolution, rpcSystemUtils, fatalErrorHandler);
        RestoredCheckpoints.configure(configuration);
        return Watched.services(services, configuration);
    }
}
