package orphangc.flink;

/** The job's restore is refused: it would leave state behind that nothing claims. */
public final class UnclaimedStateException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    UnclaimedStateException(String message) {
        super(message);
    }
}
