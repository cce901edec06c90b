package orphangc.flink;

import java.io.BufferedOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;

import org.apache.flink.core.fs.FSDataInputStream;
import org.apache.flink.core.fs.FSDataOutputStream;
import org.apache.flink.core.fs.FileStatus;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.fs.Path;

/**
 * One job's folder: {@code snapshots/}, which never shows a half written one; {@code nonce}, which the collector writes;
 * {@code partial/}, where snapshots are written before they are renamed; {@code owners/}, see {@link OwnerMarkers}; {@code
 * ended/}, see {@link EndOfJob}.
 *
 * <p>On object stores an object appears, whole, when its stream is closed, and a rename would be a copy. So there a
 * snapshot is written under its final name at once. Everywhere else a file is visible while it is being written.
 */
final class SnapshotFolder {

    private static final Set<String> OBJECT_STORES =
            new HashSet<>(Arrays.asList("s3", "s3a", "s3n", "s3p", "gs", "oss", "cosn", "obs", "wasb", "wasbs"));

    private static final Pattern NONCE = Pattern.compile("[A-Za-z0-9._-]{1,128}");
    private static final Pattern NAME = Pattern.compile("snapshot-[0-9]{13}-.*\\.jsonl(\\.gz)?");

    private final Path snapshots;
    private final Path partial;
    private final Path nonce;
    private final Path owners;
    private final Path ended;
    private boolean isSwept;

    SnapshotFolder(Path directory, String job) {
        Path folder = new Path(directory, job);
        this.snapshots = new Path(folder, "snapshots");
        this.partial = new Path(folder, "partial");
        this.nonce = new Path(folder, "nonce");
        this.owners = new Path(folder, "owners");
        this.ended = new Path(folder, "ended");
    }

    @Override
    public String toString() {
        return snapshots.toString();
    }

    /** Returns the job's folder. */
    Path folder() {
        return owners.getParent();
    }

    /** Returns where JobManagers mark that they export the job. */
    Path owners() {
        return owners;
    }

    /** Returns the nonce, {@code null} if there is none or if it is none. */
    String nonce() throws IOException {
        byte[] start = new byte[160];
        int length = 0;
        try (FSDataInputStream in = nonce.getFileSystem().open(nonce)) {
            for (int n; length < start.length && (n = read(in, start, length)) > 0; ) {
                length += n;
            }
        } catch (FileNotFoundException e) {
            return null;
        }
        String text = new String(start, 0, length, StandardCharsets.UTF_8).trim();
        return NONCE.matcher(text).matches() ? text : null;
    }

    private static int read(InputStream in, byte[] start, int length) throws IOException {
        return in.read(start, length, start.length - length);
    }

    /** Writes a snapshot, whole or not at all, and removes the oldest ones beyond {@code kept}. */
    void write(String name, int kept, Content content) throws Exception {
        FileSystem fs = snapshots.getFileSystem();
        Path end = new Path(snapshots, name);
        fs.mkdirs(snapshots);
        if (isObjectStore(fs)) {
            create(fs, end, content);
        } else {
            sweep(fs);
            Path begin = new Path(partial, name);
            create(fs, begin, content);
            if (!fs.rename(begin, end)) {
                fs.delete(begin, false);
                throw new IOException("cannot rename " + begin + " to " + end);
            }
        }
        prune(fs, end, kept);
    }

    /** Writes that the job ended, whole or not at all; one file for each epoch. */
    void writeEnd(String name, Content content) throws Exception {
        FileSystem fs = ended.getFileSystem();
        fs.mkdirs(ended);
        Path end = new Path(ended, name);
        if (isObjectStore(fs)) {
            create(fs, end, content);
            return;
        }
        fs.mkdirs(partial);
        Path begin = new Path(partial, name);
        create(fs, begin, content);
        if (!fs.rename(begin, end)) {
            fs.delete(begin, false);
            throw new IOException("cannot rename " + begin + " to " + end);
        }
    }

    static boolean isObjectStore(FileSystem fs) {
        String scheme = fs.getUri().getScheme();
        return scheme != null && OBJECT_STORES.contains(scheme.toLowerCase(Locale.ROOT));
    }

    /** What does not become whole is removed; and where it cannot be, its footer is missing. */
    private static void create(FileSystem fs, Path path, Content content) throws Exception {
        boolean isWhole = false;
        try {
            try (FSDataOutputStream file = fs.create(path, FileSystem.WriteMode.NO_OVERWRITE);
                    OutputStream out = new BufferedOutputStream(file, 1 << 16)) {
                content.writeTo(out);
            }
            isWhole = true;
        } finally {
            if (!isWhole) {
                fs.delete(path, false);
            }
        }
    }

    /** Removes once what an earlier JobManager left half written. */
    private void sweep(FileSystem fs) throws IOException {
        fs.mkdirs(partial);
        FileStatus[] left = isSwept ? null : fs.listStatus(partial);
        for (FileStatus each : left == null ? new FileStatus[0] : left) {
            if (NAME.matcher(each.getPath().getName()).matches()) {
                fs.delete(each.getPath(), false);
            }
        }
        isSwept = true;
    }

    /** Never the one just written: with a clock behind that of a JobManager before it sorts first. */
    private void prune(FileSystem fs, Path written, int kept) throws IOException {
        FileStatus[] all = fs.listStatus(snapshots);
        if (all == null) {
            return;
        }
        Path[] others =
                Arrays.stream(all)
                        .map(FileStatus::getPath)
                        .filter(path -> NAME.matcher(path.getName()).matches())
                        .filter(path -> !path.getName().equals(written.getName()))
                        .sorted((a, b) -> a.getName().compareTo(b.getName()))
                        .toArray(Path[]::new);
        for (int i = 0; i <= others.length - kept; i++) {
            fs.delete(others[i], false);
        }
    }

    /** Writes a snapshot's bytes. */
    interface Content {
        void writeTo(OutputStream out) throws Exception;
    }
}
