package orphangc.flink;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;

import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;

/** One registry snapshot, version 2: a header, a line an entry, a footer, each a JSON object. */
final class Snapshot {

    /** A checkpoint: retained, or (with a claim mode, if known) one that the job continued from. */
    static final class Checkpoint {
        final long id;
        final boolean savepoint;
        final String path;
        final String mode;

        Checkpoint(long id, boolean savepoint, String path, String mode) {
            this.id = id;
            this.savepoint = savepoint;
            this.path = path;
            this.mode = mode;
        }
    }

    String flinkVersion;
    String job;
    String epoch;
    long sequence;
    String nonce;
    long takenAt;
    String directory;
    JobSettings settings;
    Collection<Checkpoint> retained;
    Map<Long, Long> issued;
    Collection<Checkpoint> restored;
    List<Object> entries;
    RegistryReader.Entries fields;

    void writeTo(OutputStream out) throws Exception {
        write(out, header());
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        DigestOutputStream body = new DigestOutputStream(out, digest);
        for (Object entry : entries) {
            write(body, entry(entry));
        }
        Json footer = new Json().put("type", "footer").put("entries", entries.size());
        write(out, footer.put("sha256", hex(digest.digest())));
    }

    private Json header() {
        Json header = new Json().put("type", "header").put("format", "orphangc-registry").put("version", 2);
        header.put("source", "registry").put("flink_version", flinkVersion).put("job_id", job);
        header.put("jm_epoch", epoch).put("sequence", sequence).put("nonce", nonce).put("taken_at", time(takenAt));
        header.put("checkpoint_dir", directory);
        header.put("max_concurrent", settings == null ? null : settings.maxConcurrent);
        Json.Array kept = header.array("retained");
        for (Checkpoint each : retained) {
            kept.add(new Json().put("id", each.id).put("savepoint", each.savepoint).put("path", each.path));
        }
        kept.end();
        Json.Array given = header.array("issued");
        issued.forEach((id, at) -> given.add(new Json().put("id", id).put("at", time(at))));
        given.end();
        Json.Array origins = header.array("restored");
        for (Checkpoint each : restored) {
            origins.add(new Json().put("id", each.id).put("path", each.path).put("mode", each.mode));
        }
        origins.end();
        putSettings(header);
        return header;
    }

    /** Version 2 adds these. */
    private void putSettings(Json header) {
        header.put("state_backend", settings == null ? null : settings.stateBackend);
        if (settings == null || settings.changelog == null) {
            header.put("changelog", (Json) null);
        } else {
            header.put("changelog", new Json().put("enabled", settings.changelog));
        }
        if (settings == null || !settings.canMerge) {
            header.put("file_merging", (Json) null);
        } else {
            Json merging = new Json().put("enabled", settings.merges).put("across", settings.mergesAcross);
            header.put("file_merging", merging);
        }
    }

    private Json entry(Object entry) throws ReflectiveOperationException {
        StreamStateHandle handle = fields.handle(entry);
        String kind = "other";
        String path;
        if (handle instanceof FileStateHandle) {
            kind = "file";
            path = ((FileStateHandle) handle).getFilePath().toString();
        } else if (handle.getClass().getSimpleName().contains("SegmentFileStateHandle")) { // since 1.20
            kind = "segment";
            path = handle.getClass().getMethod("getFilePath").invoke(handle).toString();
        } else if (handle.getClass().getSimpleName().equals("DirectoryStreamStateHandle")) { // since 1.20
            kind = "directory";
            path = handle.getClass().getMethod("getDirectory").invoke(handle).toString();
        } else if (handle instanceof ByteStreamStateHandle) { // inline; its name looks like that of a file
            path = ((ByteStreamStateHandle) handle).getHandleName();
        } else { // what stands for a keyed state as a whole since 1.16, and what later releases bring
            path = handle.getClass().getName();
        }
        return new Json()
                .put("type", "entry")
                .put("path", relative(path))
                .put("kind", kind)
                .put("size", size(handle))
                .put("created", id(fields.created(entry)))
                .put("last_used", id(fields.lastUsed(entry)));
    }

    private String relative(String path) {
        int below = directory.length() + 1;
        boolean isBelow = path.length() > below && path.startsWith(directory) && path.charAt(below - 1) == '/';
        return isBelow ? path.substring(below) : path;
    }

    private static Long size(StreamStateHandle handle) {
        try {
            return id(handle.getStateSize());
        } catch (UnsupportedOperationException e) { // it is no state of its own
            return null;
        }
    }

    /** Flink says -1 for what it does not know. */
    private static Long id(long number) {
        return number < 0 ? null : number;
    }

    private static String time(long millis) {
        return Instant.ofEpochMilli(millis).toString();
    }

    private static void write(OutputStream out, Json line) throws IOException {
        out.write((line.end() + "\n").getBytes(StandardCharsets.UTF_8));
    }

    private static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte each : bytes) {
            text.append(String.format("%02x", each));
        }
        return text.toString();
    }
}
