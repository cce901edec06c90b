package orphangc.flink;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;

/**
 * A class file's constant pool (Java Virtual Machine Specification, 4.4), as much of it as it takes to have another class
 * called: a call names a method reference, which names a class, so that reference alone is changed.
 */
final class ConstantPool {

    private static final int UTF8 = 1;
    private static final int LONG = 5;
    private static final int DOUBLE = 6;
    private static final int CLASS = 7;
    private static final int METHOD = 10;
    private static final int NAME_AND_TYPE = 12;

    /** Sizes of constants by tag, without the tag; 0: there is no such tag. Utf8 has a size of its own. */
    private static final int[] SIZES = {0, 0, 0, 4, 4, 8, 8, 2, 2, 4, 4, 4, 4, 0, 0, 3, 2, 4, 4, 2, 2};

    private final byte[] file;
    private final int count;
    private final int[] places;
    private final int end;

    ConstantPool(byte[] file) throws IOException {
        this.file = file;
        this.count = number(8);
        this.places = new int[count];
        int place = 10;
        for (int i = 1; i < count; i++) {
            places[i] = place;
            int tag = file[place];
            if (tag == UTF8) {
                place += 3 + number(place + 1);
            } else if (tag < SIZES.length && SIZES[tag] > 0) {
                place += 1 + SIZES[tag];
            } else {
                throw new IOException("unknown constant " + tag);
            }
            i += tag == LONG || tag == DOUBLE ? 1 : 0; // these take two numbers
        }
        this.end = place;
    }

    /** Returns the class file with the method's class replaced, {@code null} if it calls no such method. */
    byte[] redirect(String type, String method, String signature, String target) throws IOException {
        return redirect(type, method, signature, target, null);
    }

    /** Does the same for a target whose parameters have wider types: its signature replaces the method's. */
    byte[] redirect(String type, String method, String signature, String target, String wider) throws IOException {
        byte[] changed = null;
        for (int i = 1; i < count; i++) {
            if (is(i, METHOD) && names(i, type, method, signature)) {
                int name = number(places[number(places[i] + 3)] + 1);
                changed = changed == null ? withConstants(target, name, wider) : changed;
                put(changed, places[i] + 1, count + 1);
                if (wider != null) {
                    put(changed, places[i] + 3, count + 3);
                }
            }
        }
        return changed;
    }

    private static void put(byte[] bytes, int place, int number) {
        bytes[place] = (byte) (number >> 8);
        bytes[place + 1] = (byte) number;
    }

    /** Returns the file with more constants: the class's name, the class, and a signature with a method's name and type. */
    private byte[] withConstants(String name, int method, String signature) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(file.length + 100);
        DataOutputStream out = new DataOutputStream(bytes);
        out.write(file, 0, 8);
        out.writeShort(count + (signature == null ? 2 : 4));
        out.write(file, 10, end - 10);
        out.writeByte(UTF8);
        out.writeUTF(name);
        out.writeByte(CLASS);
        out.writeShort(count);
        if (signature != null) {
            out.writeByte(UTF8);
            out.writeUTF(signature);
            out.writeByte(NAME_AND_TYPE);
            out.writeShort(method);
            out.writeShort(count + 2);
        }
        out.write(file, end, file.length - end);
        return bytes.toByteArray();
    }

    /** Any signature is right where none is given. */
    private boolean names(int reference, String type, String method, String signature) throws IOException {
        int owner = number(places[reference] + 1);
        int nameAndType = number(places[reference] + 3);
        return is(owner, CLASS)
                && type.equals(text(number(places[owner] + 1)))
                && is(nameAndType, NAME_AND_TYPE)
                && method.equals(text(number(places[nameAndType] + 1)))
                && (signature == null || signature.equals(text(number(places[nameAndType] + 3))));
    }

    private boolean is(int constant, int tag) {
        return places[constant] > 0 && file[places[constant]] == tag;
    }

    private String text(int constant) throws IOException {
        int length = 2 + number(places[constant] + 1);
        return new DataInputStream(new ByteArrayInputStream(file, places[constant] + 1, length)).readUTF();
    }

    private int number(int place) {
        return (file[place] & 255) << 8 | file[place + 1] & 255;
    }
}
