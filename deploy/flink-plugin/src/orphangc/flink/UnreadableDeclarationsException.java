package orphangc.flink;

/** The declarations file cannot be read: what it names is not known, and so nothing may be dropped. */
final class UnreadableDeclarationsException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    UnreadableDeclarationsException(String uri, Throwable cause) {
        super(UnclaimedSettings.DECLARATIONS.key() + ": cannot read " + uri + ": " + cause.getMessage(), cause);
    }
}
