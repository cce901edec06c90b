package orphangc.flink;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * The id of an operator from its uid: MurmurHash3 of 128 bits, seed 0, as {@code StreamGraphHasherV2} of Flink 1.15 to 2.3
 * computes it with a library whose package has another name in each release.
 */
final class OperatorIds {

    private static final long C1 = 0x87C37B91114253D5L;
    private static final long C2 = 0x4CF5AD432745937FL;
    private static final int BLOCK = 16;

    private OperatorIds() {}

    static String of(String uid) {
        byte[] data = uid.getBytes(StandardCharsets.UTF_8);
        int whole = data.length - data.length % BLOCK;
        ByteBuffer blocks = ByteBuffer.allocate(whole + BLOCK).order(ByteOrder.LITTLE_ENDIAN);
        blocks.put(data).position(0);
        long h1 = 0;
        long h2 = 0;
        while (blocks.position() < whole) {
            h1 = (Long.rotateLeft(h1 ^ first(blocks.getLong()), 27) + h2) * 5 + 0x52DCE729;
            h2 = (Long.rotateLeft(h2 ^ second(blocks.getLong()), 31) + h1) * 5 + 0x38495AB5;
        }
        h1 ^= first(blocks.getLong()) ^ data.length;
        h2 ^= second(blocks.getLong()) ^ data.length;
        h1 += h2;
        h2 += h1;
        h1 = mixed(h1);
        h2 = mixed(h2);
        h1 += h2;
        h2 += h1;
        ByteBuffer id = ByteBuffer.allocate(BLOCK).order(ByteOrder.LITTLE_ENDIAN).putLong(h1).putLong(h2);
        StringBuilder text = new StringBuilder();
        for (byte each : id.array()) {
            text.append(String.format("%02x", each));
        }
        return text.toString();
    }

    private static long first(long block) {
        return Long.rotateLeft(block * C1, 31) * C2;
    }

    private static long second(long block) {
        return Long.rotateLeft(block * C2, 33) * C1;
    }

    private static long mixed(long value) {
        long once = (value ^ value >>> 33) * 0xFF51AFD7ED558CCDL;
        long twice = (once ^ once >>> 33) * 0xC4CEB9FE1A85EC53L;
        return twice ^ twice >>> 33;
    }
}
