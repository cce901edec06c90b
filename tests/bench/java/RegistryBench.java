package orphangc.flink;

import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.TreeMap;
import java.util.UUID;
import java.util.zip.GZIPOutputStream;

import org.apache.flink.core.fs.Path;
import org.apache.flink.runtime.state.SharedStateRegistryImpl;
import org.apache.flink.runtime.state.SharedStateRegistryKey;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;

/** Times the steps of an export, on Flink's own registry with as many entries as asked for. */
public final class RegistryBench {

    public static void main(String[] arguments) throws Exception {
        int entries = Integer.parseInt(arguments[0]);
        String directory = "s3://bucket/checkpoints/00000000000000000000000000000000";
        SharedStateRegistryImpl registry = new SharedStateRegistryImpl(Runnable::run);
        for (int i = 0; i < entries; i++) {
            Path path = new Path(directory + "/shared/" + (i / 1000 + 1) + "_" + UUID.randomUUID());
            registry.registerReference(
                    new SharedStateRegistryKey(path.toString()), new FileStateHandle(path, 1_000_000), i / 1000 + 1, false);
        }
        ThreadMXBean cpu = ManagementFactory.getThreadMXBean();
        RegistryReader reader = new RegistryReader(registry);
        for (int round = 0; round < 5; round++) {
            long begun = cpu.getCurrentThreadCpuTime();
            Object[] copied = reader.entries();
            long held = cpu.getCurrentThreadCpuTime() - begun;
            Snapshot snapshot = new Snapshot();
            snapshot.directory = directory;
            snapshot.retained = new ArrayList<>();
            snapshot.restored = new ArrayList<>();
            snapshot.issued = new TreeMap<>();
            snapshot.entries = Arrays.asList(copied);
            snapshot.fields = new RegistryReader.Entries(copied[0].getClass());
            Counting counting = new Counting();
            GZIPOutputStream packed = new JobExport.QuickGzip(counting);
            snapshot.writeTo(packed);
            packed.finish();
            System.out.printf(
                    "%,d entries: registry held %.1f ms, export %.0f ms (CPU), %,d bytes%n",
                    entries, held / 1e6, (cpu.getCurrentThreadCpuTime() - begun) / 1e6, counting.bytes);
        }
    }

    private static final class Counting extends OutputStream {
        private long bytes;

        @Override
        public void write(int value) {
            bytes++;
        }

        @Override
        public void write(byte[] from, int offset, int length) {
            bytes += length;
        }
    }
}
