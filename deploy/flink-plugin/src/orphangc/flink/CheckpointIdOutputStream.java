package orphangc.flink;

import java.io.IOException;
import java.util.Arrays;
import java.util.UUID;

import org.apache.flink.core.fs.EntropyInjector;
import org.apache.flink.core.fs.FSDataOutputStream;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.fs.OutputStreamAndPath;
import org.apache.flink.core.fs.Path;
import org.apache.flink.runtime.state.CheckpointStateOutputStream;
import org.apache.flink.runtime.state.StreamStateHandle;
import org.apache.flink.runtime.state.filesystem.FileStateHandle;
import org.apache.flink.runtime.state.memory.ByteStreamStateHandle;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A shared state file named {@code <checkpoint id>_<UUID>}.
 *
 * <p>As with Flink's own stream, up to the inline threshold no file is made and the bytes go into the handle; entropy is
 * injected where the file system asks for it; and a stream that is closed before its handle was taken removes its file.
 * Closing may come from another thread than writing.
 */
final class CheckpointIdOutputStream extends CheckpointStateOutputStream {

    private static final Logger LOG = LoggerFactory.getLogger(CheckpointIdOutputStream.class);
    private static final int ATTEMPTS = 10;

    private final FileSystem fileSystem;
    private final Path folder;
    private final long checkpointId;
    private final int inlineThreshold;
    private final byte[] buffer;

    private int buffered;
    private volatile FSDataOutputStream file;
    private volatile Path path;
    private volatile boolean closed;

    CheckpointIdOutputStream(
            FileSystem fileSystem, Path folder, long checkpointId, int bufferSize, int inlineThreshold) {
        this.fileSystem = fileSystem;
        this.folder = folder;
        this.checkpointId = checkpointId;
        this.inlineThreshold = inlineThreshold;
        this.buffer = new byte[bufferSize];
    }

    @Override
    public void write(int value) throws IOException {
        if (buffered >= buffer.length) {
            toFile();
        }
        buffer[buffered++] = (byte) value;
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
        if (length >= buffer.length) {
            toFile();
            file.write(bytes, offset, length);
            return;
        }
        int fits = Math.min(length, buffer.length - buffered);
        System.arraycopy(bytes, offset, buffer, buffered, fits);
        buffered += fits;
        if (fits < length) {
            toFile();
            System.arraycopy(bytes, offset + fits, buffer, 0, length - fits);
            buffered = length - fits;
        }
    }

    @Override
    public long getPos() throws IOException {
        return buffered + (file == null ? 0 : file.getPos());
    }

    @Override
    public void flush() throws IOException {
        if (file != null || buffered > inlineThreshold) {
            toFile();
        }
    }

    @Override
    public void sync() throws IOException {
        if (file != null) {
            file.sync();
        }
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        buffered = buffer.length; // the next write finds no room, hence that the stream is closed
        if (file != null) {
            try {
                file.close();
            } catch (Throwable error) {
                LOG.warn("Could not close the state stream for {}.", path, error);
            } finally {
                delete();
            }
        }
    }

    @Override
    public synchronized StreamStateHandle closeAndGetHandle() throws IOException {
        if (file == null && buffered == 0) {
            return null;
        }
        if (closed) {
            throw new IOException("Stream has already been closed and discarded.");
        }
        if (file == null && buffered <= inlineThreshold) {
            closed = true;
            byte[] bytes = Arrays.copyOf(buffer, buffered);
            buffered = buffer.length;
            return new ByteStreamStateHandle(newPath().toString(), bytes);
        }
        try {
            toFile();
            buffered = buffer.length;
            long size = sizeOfFile();
            file.close();
            closed = true;
            return new FileStateHandle(path, size);
        } catch (Exception error) {
            close();
            throw new IOException(
                    "Could not flush to file and close the file system output stream to "
                            + path
                            + " in order to obtain the stream state handle",
                    error);
        }
    }

    /** Some streams cannot tell; -1 is what Flink then says as well. */
    private long sizeOfFile() {
        try {
            return file.getPos();
        } catch (Exception error) {
            return -1;
        }
    }

    private synchronized void toFile() throws IOException {
        if (closed) {
            throw new IOException("closed");
        }
        if (file == null) {
            create();
        }
        if (buffered > 0) {
            file.write(buffer, 0, buffered);
            buffered = 0;
        }
    }

    private void create() throws IOException {
        Exception last = null;
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            try {
                OutputStreamAndPath made =
                        EntropyInjector.createEntropyAware(
                                fileSystem, newPath(), FileSystem.WriteMode.NO_OVERWRITE);
                path = made.path();
                file = made.stream();
                return;
            } catch (Exception error) {
                last = error;
            }
        }
        throw new IOException("Could not open output stream for state backend", last);
    }

    private Path newPath() {
        return new Path(folder, checkpointId + "_" + UUID.randomUUID());
    }

    private void delete() {
        try {
            if (path != null) {
                fileSystem.delete(path, false);
            }
        } catch (Exception error) {
            LOG.warn("Cannot delete closed and discarded state stream for {}.", path, error);
        }
    }
}
