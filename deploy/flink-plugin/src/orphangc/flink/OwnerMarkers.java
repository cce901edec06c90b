package orphangc.flink;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.apache.flink.core.fs.FSDataOutputStream;
import org.apache.flink.core.fs.FileStatus;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.fs.Path;

/**
 * The markers of all JobManagers that export one job, in {@code owners/}: {@code <epoch>.began}, written once, and {@code
 * <epoch>.alive}, written again and again.
 *
 * <p>Only the store's times count, so no two clocks are compared. A JobManager lives if its second marker changes between
 * two looks; it is newer if its first marker is. The collector reads the same: whose second marker is younger than
 * another one's first has lived beside it.
 */
final class OwnerMarkers {

    private static final Pattern NAME = Pattern.compile("([A-Za-z0-9-]{1,64})\\.(began|alive)");
    private static final long KEPT_MILLIS = TimeUnit.DAYS.toMillis(1);

    private final Path folder;
    private final String epoch;
    private boolean hasBegun;

    /** By epoch: when its second marker was written last, as of the look before. */
    private Map<String, Long> before = new HashMap<>();

    OwnerMarkers(Path folder, String epoch) {
        this.folder = folder;
        this.epoch = epoch;
    }

    /** Returns the marker that says when we began. */
    Path began() {
        return new Path(folder, epoch + ".began");
    }

    /** Writes our markers; returns the epoch of a newer JobManager that lives, {@code null} if there is none. */
    String refresh() throws IOException {
        FileSystem fs = folder.getFileSystem();
        if (!hasBegun) {
            fs.mkdirs(folder);
            write(fs, epoch + ".began");
            hasBegun = true;
        }
        write(fs, epoch + ".alive");
        Map<String, Long> began = new HashMap<>();
        Map<String, Long> alive = new HashMap<>();
        FileStatus[] all = fs.listStatus(folder);
        for (FileStatus each : all == null ? new FileStatus[0] : all) {
            Matcher name = NAME.matcher(each.getPath().getName());
            if (name.matches()) {
                (name.group(2).equals("began") ? began : alive).put(name.group(1), each.getModificationTime());
            }
        }
        String newer = newer(began, alive);
        forget(fs, began, alive);
        before = alive;
        return newer;
    }

    private String newer(Map<String, Long> began, Map<String, Long> alive) {
        Long own = began.get(epoch);
        for (Map.Entry<String, Long> each : alive.entrySet()) {
            String other = each.getKey();
            Long known = before.get(other);
            boolean lives = known != null && !known.equals(each.getValue());
            if (!other.equals(epoch) && lives && own != null && isNewer(other, began.get(other), own)) {
                return other;
            }
        }
        return null;
    }

    private boolean isNewer(String other, Long theirs, long own) {
        return theirs != null && (theirs == own ? other.compareTo(epoch) > 0 : theirs > own);
    }

    /** Removes the markers of JobManagers that have been dead for long. */
    private void forget(FileSystem fs, Map<String, Long> began, Map<String, Long> alive) throws IOException {
        long now = alive.getOrDefault(epoch, 0L);
        for (Map.Entry<String, Long> each : began.entrySet()) {
            String other = each.getKey();
            long last = Math.max(each.getValue(), alive.getOrDefault(other, 0L));
            if (!other.equals(epoch) && last < now - KEPT_MILLIS) {
                fs.delete(new Path(folder, other + ".alive"), false);
                fs.delete(new Path(folder, other + ".began"), false);
            }
        }
    }

    /** Removes our markers: a JobManager that ends its job's export in order is nobody's rival. */
    void remove() throws IOException {
        if (hasBegun) {
            FileSystem fs = folder.getFileSystem();
            try {
                fs.delete(new Path(folder, epoch + ".alive"), false);
                fs.delete(new Path(folder, epoch + ".began"), false);
            } catch (FileNotFoundException e) {
                return;
            }
        }
    }

    private void write(FileSystem fs, String name) throws IOException {
        try (FSDataOutputStream out = fs.create(new Path(folder, name), FileSystem.WriteMode.OVERWRITE)) {
            out.write((epoch + "\n").getBytes(StandardCharsets.UTF_8));
        }
    }
}
