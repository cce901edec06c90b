package orphangc.flink;

import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.zip.Deflater;
import java.util.zip.GZIPOutputStream;

import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.runtime.checkpoint.CompletedCheckpoint;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Exports the registry of one job from one start of its JobMaster to its end, on a daemon thread of its own.
 *
 * <p>Flink's threads only leave notes here ({@link #recovered}, {@link #added}). Within one export, what the collector
 * wants old is read before what it wants new: nonce, time, retained and issued checkpoints, registry.
 */
final class JobExport implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(JobExport.class);

    /** Exporting may take this part of the time: one in so many. */
    private static final int SHARE = 20;

    /** The longest time between two markers that the JobManager lives. */
    private static final long BEAT_MILLIS = TimeUnit.SECONDS.toMillis(60);

    /** So long a newer JobManager may give no sign before we export again. */
    private static final long PATIENCE_MILLIS = 5 * BEAT_MILLIS;

    /** The longest wait for Flink to add a checkpoint to its store, which high availability services may make slow. It counts as export. */
    private static final long PATIENCE_WITH_FLINK_MILLIS = 5_000;

    /** How often the registry is read if all that was retained before is subsumed meanwhile. */
    private static final int TRIES = 10;

    private static final long LONGEST_PAUSE_MILLIS = TimeUnit.MINUTES.toMillis(5);

    private final JobID job;
    private final String claimMode;
    private final Settings settings;
    private final RegistryReader registry;
    private final Supplier<List<IssuedIds>> counters;
    private final SnapshotFolder folder;
    private final String epoch = UUID.randomUUID().toString();
    private final OwnerMarkers owners;
    private final LearntDeclarations learnt;
    private final List<Snapshot.Checkpoint> restored = new ArrayList<>();

    private volatile String directory;
    private volatile JobSettings jobSettings;
    private volatile EndOfJob end;

    // guarded by this
    private List<Snapshot.Checkpoint> retained = new ArrayList<>();
    private boolean isAdding;
    private boolean hasNews = true;
    private boolean closed;

    // of the exporting thread
    private RegistryReader.Entries fields;
    private String nonce;
    private String exportedNonce;
    private long sequence;
    private long failures;
    private String newer;
    private long lastSign;
    private boolean isBeatBroken;

    JobExport(
            JobID job,
            String claimMode,
            Settings settings,
            RegistryReader registry,
            Supplier<List<IssuedIds>> counters) {
        this.job = job;
        this.claimMode = claimMode;
        this.settings = settings;
        this.registry = registry;
        this.counters = counters;
        this.folder = new SnapshotFolder(settings.directory, job.toString());
        this.owners = new OwnerMarkers(folder.owners(), epoch);
        this.learnt = new LearntDeclarations(folder.folder(), owners.began());
    }

    JobID job() {
        return job;
    }

    void start() {
        Thread thread = new Thread(this::run, "orphangc-registry-" + job);
        thread.setDaemon(true);
        thread.setContextClassLoader(JobExport.class.getClassLoader());
        thread.setUncaughtExceptionHandler((same, error) -> LOG.error("Export of job {} ended", job, error));
        thread.start();
        LOG.info("Exporting the shared state registry of job {} to {}, epoch {}", job, folder, epoch);
    }

    @Override
    public synchronized void close() {
        closed = true;
        notifyAll();
    }

    // ------------------------------------------------------------------ on Flink's threads: short, no I/O

    /** Notes what the high availability services knew of: the job goes on from the newest. */
    void recovered(List<CompletedCheckpoint> all) {
        for (CompletedCheckpoint each : all) {
            noteDirectory(each, false);
        }
        if (!all.isEmpty()) {
            noteRestored(all.get(all.size() - 1), null);
        }
        retain(all);
    }

    /** Notes that a checkpoint is being added: what the store retains, and its registry, change until {@link #retain}. */
    synchronized void adding() {
        isAdding = true;
    }

    /** Notes the store's content after a checkpoint was added: completed here, or restored from elsewhere. */
    void added(CompletedCheckpoint added, List<CompletedCheckpoint> all, Runnable callback) {
        List<IssuedIds> issued = counters.get();
        if (issued.isEmpty()) {
            throw new IllegalStateException("no checkpoint counter was seen, so pending checkpoints are unknown");
        }
        boolean isOurs = issued.stream().anyMatch(each -> each.contains(added.getCheckpointID()));
        noteDirectory(added, isOurs);
        if (isOurs) {
            learnt.completed(added);
        } else {
            noteRestored(added, claimMode);
        }
        if (jobSettings == null && callback != null) {
            jobSettings = JobSettings.of(callback);
        }
        retain(all);
        synchronized (this) {
            if (!hasNews) {
                hasNews = true;
                notifyAll();
            }
        }
    }

    /** Notes what is stored when Flink begins to shut the store down with the job's final status. */
    void ending(JobStatus status, List<CompletedCheckpoint> all) {
        end = EndOfJob.of(job, epoch, status, directory, new ArrayList<>(all));
    }

    /** The job's directory is the parent of a checkpoint that this job made; a restored one may lie elsewhere. */
    private void noteDirectory(CompletedCheckpoint checkpoint, boolean isOurs) {
        String path = checkpoint.getExternalPointer();
        int end = path == null ? -1 : path.lastIndexOf("/chk-" + checkpoint.getCheckpointID());
        if (end > 0 && (isOurs || path.substring(0, end).endsWith("/" + job))) {
            directory = path.substring(0, end);
        }
    }

    private void noteRestored(CompletedCheckpoint checkpoint, String mode) {
        synchronized (restored) {
            restored.add(
                    new Snapshot.Checkpoint(
                            checkpoint.getCheckpointID(), false, checkpoint.getExternalPointer(), mode));
        }
    }

    /** Notes what the store retains, now that it changes no more. */
    void retain(List<CompletedCheckpoint> all) {
        List<Snapshot.Checkpoint> now = new ArrayList<>(all.size());
        long oldest = Long.MAX_VALUE;
        for (CompletedCheckpoint each : all) {
            boolean isSavepoint = each.getProperties().isSavepoint();
            long id = each.getCheckpointID();
            now.add(new Snapshot.Checkpoint(id, isSavepoint, each.getExternalPointer(), null));
            oldest = isSavepoint ? oldest : Math.min(oldest, id);
        }
        synchronized (this) {
            retained = now;
            isAdding = false;
            notifyAll();
        }
        if (oldest != Long.MAX_VALUE) {
            for (IssuedIds each : counters.get()) {
                each.forgetUpTo(oldest);
            }
        }
    }

    // ------------------------------------------------------------------ on our threads

    /** Writes that the job ended; nothing if it did not. */
    void writeEnd() {
        try {
            if (end != null) {
                folder.writeEnd(epoch + ".json", end::writeTo);
                LOG.info("Noted the end of job {} in {}", job, folder);
            }
        } catch (Throwable error) {
            LOG.warn("The end of job {} could not be noted", job, error);
        }
    }

    private void run() {
        exportUntilClosed();
        try {
            owners.remove();
        } catch (Throwable error) {
            LOG.debug("The owner's markers of job {} stay in {}", job, folder, error);
        }
    }

    private void exportUntilClosed() {
        long nextLook = System.nanoTime();
        long nextBeat = nextLook;
        long due = nextLook;
        long earliest = nextLook;
        while (pause(Math.min(nextBeat, Math.min(nextLook, Math.max(earliest, due))), earliest)) {
            long now = System.nanoTime();
            if (now - nextBeat >= 0) {
                beat();
                nextBeat = System.nanoTime() + millis(Math.min(BEAT_MILLIS, settings.intervalMillis));
            }
            if (newer != null) { // nothing is exported until we are alone again
                takeNews();
                earliest = nextBeat;
                due = nextBeat;
                nextLook = nextBeat;
                continue;
            }
            if (now - nextLook >= 0) {
                look();
                nextLook = System.nanoTime() + millis(settings.nonceMillis);
            }
            boolean isNewNonce = nonce != null && !nonce.equals(exportedNonce);
            if (now - earliest >= 0 && (takeNews() || isNewNonce || now - due >= 0)) {
                long begun = System.nanoTime();
                tryExport();
                long end = System.nanoTime();
                earliest = end + Math.max(millis(pauseMillis()), SHARE * (end - begun));
                due = begun + millis(settings.intervalMillis);
            } else if (isNewNonce) {
                due = earliest;
            }
        }
    }

    /** Waits until a time, or until there are news that may be exported; false when closed. */
    private synchronized boolean pause(long until, long earliest) {
        try {
            while (!closed) {
                long end = hasNews && earliest - until < 0 ? earliest : until;
                long left = end - System.nanoTime();
                if (left <= 0) {
                    return true;
                }
                TimeUnit.NANOSECONDS.timedWait(this, left + 999_999);
            }
        } catch (InterruptedException e) {
            return false;
        }
        return false;
    }

    private synchronized boolean takeNews() {
        boolean had = hasNews;
        hasNews = false;
        return had;
    }

    /** Twice as long after each failure in a row. */
    private long pauseMillis() {
        if (failures == 0) {
            return settings.minPauseMillis;
        }
        long doubled = Math.max(settings.minPauseMillis, 100) << Math.min(failures, 12);
        return Math.max(settings.minPauseMillis, Math.min(doubled, LONGEST_PAUSE_MILLIS));
    }

    /** Marks that we live, and stops exporting while a newer JobManager does: two export one job. */
    private void beat() {
        try {
            String found = owners.refresh();
            isBeatBroken = false;
            if (found != null && newer == null) {
                LOG.error(
                        "Another JobManager exports job {} too, epoch {}, and began later: do two clusters run it, or has"
                                + " this one lost it? Its registry is exported no more while that one lives",
                        job,
                        found);
            }
            if (found != null) {
                newer = found;
                lastSign = System.nanoTime();
            } else if (newer != null && System.nanoTime() - lastSign >= millis(PATIENCE_MILLIS)) {
                LOG.warn("JobManager {} of job {} gives no sign any more: exporting again", newer, job);
                newer = null;
            }
        } catch (Throwable error) {
            if (!isBeatBroken) {
                LOG.warn("No owner's marker can be written for job {} in {}", job, folder, error);
            }
            isBeatBroken = true;
        }
    }

    private void look() {
        try {
            String found = folder.nonce();
            nonce = found == null ? nonce : found;
        } catch (Throwable error) {
            LOG.debug("No nonce can be read in {}", folder, error);
        }
    }

    private void tryExport() {
        try {
            if (export()) {
                failures = 0;
                learnt.write(jobSettings == null ? Collections.emptyList() : jobSettings.operators);
            }
        } catch (Throwable error) {
            failures++;
            if (Long.bitCount(failures) == 1) { // the 1st, 2nd, 4th, ...
                LOG.warn("Export {} in a row failed for job {}; the job does not mind", failures, job, error);
            }
        }
    }

    /** Returns false if there is nothing to say yet: no checkpoint of this job was ever completed, or issued now. */
    private boolean export() throws Exception {
        Snapshot snapshot = take();
        if (snapshot == null) {
            return false;
        }
        String suffix = settings.gzip ? ".jsonl.gz" : ".jsonl";
        String name = String.format("snapshot-%013d-%s-%010d%s", snapshot.takenAt, epoch, sequence, suffix);
        folder.write(name, settings.kept, out -> writeTo(out, snapshot));
        exportedNonce = snapshot.nonce;
        return true;
    }

    private void writeTo(OutputStream out, Snapshot snapshot) throws Exception {
        if (settings.gzip) {
            GZIPOutputStream packed = new QuickGzip(out);
            snapshot.writeTo(packed);
            packed.finish();
        } else {
            snapshot.writeTo(out);
        }
    }

    /** Most of a snapshot are UUIDs, which no effort makes smaller than their bits. */
    static final class QuickGzip extends GZIPOutputStream {
        QuickGzip(OutputStream out) throws IOException {
            super(out, 1 << 16);
            def.setLevel(Deflater.BEST_SPEED);
        }
    }

    /** Returns what is written next, {@code null} if there is nothing to say. */
    Snapshot take() throws Exception {
        Snapshot snapshot = new Snapshot();
        snapshot.nonce = nonce;
        snapshot.takenAt = System.currentTimeMillis();
        snapshot.directory = directory;
        if (!readRegistry(snapshot) || snapshot.directory == null || snapshot.issued == null) {
            return null;
        }
        synchronized (restored) {
            snapshot.restored = new ArrayList<>(restored);
        }
        if (fields == null && !snapshot.entries.isEmpty()) {
            fields = new RegistryReader.Entries(snapshot.entries.get(0).getClass());
        }
        snapshot.fields = fields;
        snapshot.settings = jobSettings;
        snapshot.flinkVersion = EnvironmentInformation.getVersion();
        snapshot.job = job.toString();
        snapshot.epoch = epoch;
        snapshot.sequence = ++sequence;
        return snapshot;
    }

    /**
     * Reads what is retained, what was issued and the registry, in this order.
     *
     * <p>A checkpoint that is subsumed in between may have lost its files: it is left out. The others were retained before and
     * after, so that the registry had all of their files. Ids do not come back.
     *
     * @return false if nothing was retained throughout, or Flink does not finish adding a checkpoint: the registry is no evidence
     */
    private boolean readRegistry(Snapshot snapshot) throws InterruptedException {
        for (int i = 0; i < TRIES; i++) {
            List<Snapshot.Checkpoint> before = retained();
            snapshot.issued = issued();
            snapshot.entries = Arrays.asList(registry.entries());
            List<Snapshot.Checkpoint> after = retainedAtRest();
            if (after == null) {
                return false;
            }
            Set<Long> left = after.stream().map(each -> each.id).collect(Collectors.toSet());
            snapshot.retained = before.stream().filter(each -> left.contains(each.id)).collect(Collectors.toList());
            if (before.isEmpty() || !snapshot.retained.isEmpty()) {
                return true;
            }
        }
        return false;
    }

    private synchronized List<Snapshot.Checkpoint> retained() {
        return retained;
    }

    /** Returns what is retained while no checkpoint is being added, {@code null} if that does not end. */
    private synchronized List<Snapshot.Checkpoint> retainedAtRest() throws InterruptedException {
        long until = System.nanoTime() + millis(PATIENCE_WITH_FLINK_MILLIS);
        while (isAdding && !closed) {
            long left = until - System.nanoTime();
            if (left <= 0) {
                return null;
            }
            TimeUnit.NANOSECONDS.timedWait(this, left + 999_999);
        }
        return closed ? null : retained;
    }

    /** Returns {@code null} if no counter was made yet, so that nobody knows what is pending. */
    private Map<Long, Long> issued() {
        List<IssuedIds> all = counters.get();
        if (all.isEmpty()) {
            return null;
        }
        Map<Long, Long> issued = new TreeMap<>();
        all.forEach(each -> each.addTo(issued));
        return issued;
    }

    private static long millis(long millis) {
        return TimeUnit.MILLISECONDS.toNanos(millis);
    }
}
