import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.fs.BlockLocation;
import org.apache.flink.core.fs.FSDataInputStream;
import org.apache.flink.core.fs.FSDataOutputStream;
import org.apache.flink.core.fs.FileStatus;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.fs.FileSystemFactory;
import org.apache.flink.core.fs.FileSystemKind;
import org.apache.flink.core.fs.Path;

/**
 * Flink's {@code s3:} on one server of the test bed, as far as checkpoints use a file system.
 *
 * <p>Each file is a multipart upload from its creation on, so that a process that dies leaves what it leaves with Flink's own
 * file systems: nothing in a listing, and an unfinished upload. An empty file is none.
 */
public final class S3Files extends FileSystem {

    /** Reads {@code s3.endpoint}, {@code s3.access-key} and {@code s3.secret-key}. */
    public static final class Factory implements FileSystemFactory {
        private Map<String, String> settings;

        @Override
        public void configure(Configuration configuration) {
            settings = configuration.toMap();
        }

        @Override
        public String getScheme() {
            return "s3";
        }

        @Override
        public FileSystem create(URI uri) {
            return new S3Files(URI.create("s3://" + uri.getAuthority()), new Server(settings));
        }
    }

    private final URI uri;
    private final Server server;

    private S3Files(URI uri, Server server) {
        this.uri = uri;
        this.server = server;
    }

    // ------------------------------------------------------------------ files

    @Override
    public FSDataOutputStream create(Path path, WriteMode mode) throws IOException {
        if (mode == WriteMode.NO_OVERWRITE && server.size(key(path)) >= 0) {
            throw new IOException(path + " is there");
        }
        return new Written(key(path));
    }

    @Override
    public FSDataInputStream open(Path path) throws IOException {
        return new Read(server.send("GET", key(path), "", null, 200).body());
    }

    @Override
    public FSDataInputStream open(Path path, int bufferSize) throws IOException {
        return open(path);
    }

    @Override
    public boolean delete(Path path, boolean recursive) throws IOException {
        if (recursive) {
            for (String each : server.below(key(path) + "/", 1000)) {
                server.send("DELETE", "/" + uri.getAuthority() + "/" + each, "", null, 204);
            }
        }
        server.send("DELETE", key(path), "", null, 204);
        return true;
    }

    @Override
    public FileStatus getFileStatus(Path path) throws IOException {
        long size = server.size(key(path));
        if (size < 0 && server.below(key(path) + "/", 1).isEmpty()) {
            throw new FileNotFoundException(path.toString());
        }
        return new Status(path, size);
    }

    @Override
    public FileStatus[] listStatus(Path path) {
        throw new UnsupportedOperationException("no checkpoint lists a folder");
    }

    @Override
    public boolean mkdirs(Path path) {
        return true;
    }

    @Override
    public boolean rename(Path from, Path to) {
        throw new UnsupportedOperationException("no checkpoint renames a file");
    }

    @Override
    public BlockLocation[] getFileBlockLocations(FileStatus file, long start, long length) {
        return new BlockLocation[0];
    }

    @Override
    public Path getWorkingDirectory() {
        return new Path(uri);
    }

    @Override
    public Path getHomeDirectory() {
        return new Path(uri);
    }

    @Override
    public URI getUri() {
        return uri;
    }

    @Override
    public boolean isDistributedFS() {
        return true;
    }

    /** Abstract before Flink 2; later releases have no such class, and the test bed gives them one. */
    public FileSystemKind getKind() {
        return FileSystemKind.OBJECT_STORE;
    }

    private String key(Path path) {
        return "/" + uri.getAuthority() + path.toUri().getPath();
    }

    private final class Written extends FSDataOutputStream {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        private final String key;
        private final String upload;
        private boolean closed;

        Written(String key) throws IOException {
            this.key = key;
            this.upload = found("<UploadId>([^<]+)<", server.send("POST", key, "uploads=", new byte[0], 200));
        }

        @Override
        public void write(int value) {
            bytes.write(value);
        }

        @Override
        public void write(byte[] values, int from, int length) {
            bytes.write(values, from, length);
        }

        @Override
        public long getPos() {
            return bytes.size();
        }

        @Override
        public void flush() {}

        @Override
        public void sync() {}

        @Override
        public void close() throws IOException {
            if (closed) {
                return;
            }
            closed = true;
            String of = "uploadId=" + encoded(upload);
            HttpResponse<byte[]> part = server.send("PUT", key, "partNumber=1&" + of, bytes.toByteArray(), 200);
            String tag = part.headers().firstValue("ETag").orElseThrow(() -> new IOException("no ETag"));
            String parts = "<Part><PartNumber>1</PartNumber><ETag>" + tag + "</ETag></Part>";
            String body = "<CompleteMultipartUpload>" + parts + "</CompleteMultipartUpload>";
            server.send("POST", key, of, body.getBytes(StandardCharsets.UTF_8), 200);
        }
    }

    private static final class Read extends FSDataInputStream {
        private final byte[] bytes;
        private int position;

        Read(byte[] bytes) {
            this.bytes = bytes;
        }

        @Override
        public void seek(long to) {
            position = (int) to;
        }

        @Override
        public long getPos() {
            return position;
        }

        @Override
        public int available() {
            return bytes.length - position;
        }

        @Override
        public int read() {
            return position < bytes.length ? bytes[position++] & 0xff : -1;
        }

        @Override
        public int read(byte[] into, int at, int most) {
            int count = Math.min(most, bytes.length - position);
            if (count <= 0) {
                return most == 0 ? 0 : -1;
            }
            System.arraycopy(bytes, position, into, at, count);
            position += count;
            return count;
        }
    }

    private static final class Status implements FileStatus {
        private final Path path;
        private final long size;

        Status(Path path, long size) {
            this.path = path;
            this.size = size;
        }

        @Override
        public long getLen() {
            return Math.max(size, 0);
        }

        @Override
        public long getBlockSize() {
            return getLen();
        }

        @Override
        public short getReplication() {
            return 1;
        }

        @Override
        public long getModificationTime() {
            return 0;
        }

        @Override
        public long getAccessTime() {
            return 0;
        }

        @Override
        public boolean isDir() {
            return size < 0;
        }

        @Override
        public Path getPath() {
            return path;
        }
    }

    // ------------------------------------------------------------------ requests

    /** Sends requests, signed by version 4 without the body's digest. */
    private static final class Server {
        private static final String REGION = "us-east-1";
        private static final String UNSIGNED = "UNSIGNED-PAYLOAD";
        private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'");

        private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        private final String endpoint;
        private final String access;
        private final String secret;

        Server(Map<String, String> settings) {
            endpoint = settings.get("s3.endpoint");
            access = settings.get("s3.access-key");
            secret = settings.get("s3.secret-key");
        }

        HttpResponse<byte[]> send(String verb, String key, String query, byte[] body, int expected) throws IOException {
            HttpResponse<byte[]> answer = answer(verb, key, query, body);
            if (answer.statusCode() == 404) {
                throw new FileNotFoundException(key);
            }
            if (answer.statusCode() != expected) {
                String said = new String(answer.body(), StandardCharsets.UTF_8);
                throw new IOException(verb + " " + key + " " + query + ": " + answer.statusCode() + " " + said);
            }
            return answer;
        }

        /** Returns the size of an object, -1 if there is none. */
        long size(String key) throws IOException {
            HttpResponse<byte[]> answer = answer("HEAD", key, "", null);
            return answer.statusCode() == 200 ? answer.headers().firstValueAsLong("Content-Length").orElse(0) : -1;
        }

        /** Returns some keys that begin with a prefix, given with its bucket. */
        List<String> below(String prefix, int most) throws IOException {
            String bucket = prefix.substring(0, prefix.indexOf('/', 1));
            String query = "list-type=2&max-keys=" + most + "&prefix=" + encoded(prefix.substring(bucket.length() + 1));
            String text = new String(send("GET", bucket, query, null, 200).body(), StandardCharsets.UTF_8);
            List<String> keys = new ArrayList<>();
            for (Matcher each = Pattern.compile("<Key>([^<]+)<").matcher(text); each.find(); ) {
                keys.add(each.group(1));
            }
            return keys;
        }

        private HttpResponse<byte[]> answer(String verb, String key, String query, byte[] body) throws IOException {
            URI to = URI.create(endpoint + key + (query.isEmpty() ? "" : "?" + query));
            String time = TIME.format(ZonedDateTime.now(ZoneOffset.UTC));
            HttpRequest.BodyPublisher publisher =
                    body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofByteArray(body);
            HttpRequest request =
                    HttpRequest.newBuilder(to)
                            .method(verb, publisher)
                            .header("x-amz-date", time)
                            .header("x-amz-content-sha256", UNSIGNED)
                            .header("Authorization", authorization(verb, to, query, time))
                            .build();
            try {
                return client.send(request, HttpResponse.BodyHandlers.ofByteArray());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted", e);
            }
        }

        private String authorization(String verb, URI to, String query, String time) throws IOException {
            TreeMap<String, String> sorted = new TreeMap<>();
            for (String each : query.isEmpty() ? new String[0] : query.split("&")) {
                sorted.put(each.substring(0, each.indexOf('=')), each);
            }
            String named = "host;x-amz-content-sha256;x-amz-date";
            String headers =
                    "host:" + to.getAuthority() + "\nx-amz-content-sha256:" + UNSIGNED + "\nx-amz-date:" + time + "\n";
            String canonical =
                    String.join("\n", verb, to.getRawPath(), String.join("&", sorted.values()), headers, named, UNSIGNED);
            String day = time.substring(0, 8);
            String scope = day + "/" + REGION + "/s3/aws4_request";
            try {
                String digest = hex(MessageDigest.getInstance("SHA-256").digest(utf8(canonical)));
                byte[] key = utf8("AWS4" + secret);
                for (String each : new String[] {day, REGION, "s3", "aws4_request"}) {
                    key = mac(key, each);
                }
                String signature = hex(mac(key, String.join("\n", "AWS4-HMAC-SHA256", time, scope, digest)));
                return "AWS4-HMAC-SHA256 Credential=" + access + "/" + scope + ", SignedHeaders=" + named
                        + ", Signature=" + signature;
            } catch (GeneralSecurityException e) {
                throw new IOException(e);
            }
        }
    }

    private static byte[] mac(byte[] key, String text) throws GeneralSecurityException {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        return mac.doFinal(utf8(text));
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20").replace("%7E", "~");
    }

    private static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte each : bytes) {
            text.append(String.format("%02x", each));
        }
        return text.toString();
    }

    private static String found(String pattern, HttpResponse<byte[]> answer) throws IOException {
        Matcher match = Pattern.compile(pattern).matcher(new String(answer.body(), StandardCharsets.UTF_8));
        if (!match.find()) {
            throw new IOException("the server answered without " + pattern);
        }
        return match.group(1);
    }
}
