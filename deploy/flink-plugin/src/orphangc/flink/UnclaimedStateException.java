package orphangc.flink;

import org.apache.flink.runtime.throwable.ThrowableAnnotation;
import org.apache.flink.runtime.throwable.ThrowableType;

/**
 * The job's restore is refused: it would leave state behind that nothing claims. Flink does not restart a job for it; a second
 * attempt would count as the job's own failover.
 */
@ThrowableAnnotation(ThrowableType.NonRecoverableError)
public final class UnclaimedStateException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    UnclaimedStateException(String message) {
        super(message);
    }
}
