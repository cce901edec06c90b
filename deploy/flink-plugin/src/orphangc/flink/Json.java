package orphangc.flink;

/** A JSON object as text, field by field. */
final class Json {

    private final StringBuilder text = new StringBuilder(160).append('{');

    Json put(String name, String value) {
        return value == null ? raw(name, "null") : quoted(name, value);
    }

    Json put(String name, Number value) {
        return raw(name, String.valueOf(value));
    }

    Json put(String name, Boolean value) {
        return raw(name, String.valueOf(value));
    }

    Json put(String name, Json value) {
        return raw(name, value == null ? "null" : value.end());
    }

    Array array(String name) {
        raw(name, "[");
        return new Array();
    }

    String end() {
        return text.append('}').toString();
    }

    /** A list of objects inside this one. */
    final class Array {
        private boolean first = true;

        void add(Json element) {
            text.append(first ? "" : ",").append(element.end());
            first = false;
        }

        void end() {
            text.append(']');
        }
    }

    private Json raw(String name, String value) {
        name(name);
        text.append(value);
        return this;
    }

    private Json quoted(String name, String value) {
        name(name);
        quote(value);
        return this;
    }

    private void name(String name) {
        if (text.length() > 1) {
            text.append(',');
        }
        quote(name);
        text.append(':');
    }

    /** Returns a text as JSON and YAML quote it. */
    static String quoted(String value) {
        Json json = new Json();
        json.quote(value);
        return json.text.substring(1);
    }

    private void quote(String value) {
        text.append('"');
        for (int i = 0; i < value.length(); i++) {
            char each = value.charAt(i);
            if (each == '"' || each == '\\') {
                text.append('\\').append(each);
            } else if (each < ' ' || isInvisible(each)) {
                text.append(String.format("\\u%04x", (int) each));
            } else {
                text.append(each);
            }
        }
        text.append('"');
    }

    /** What JSON may hold as it is and YAML may not. */
    private static boolean isInvisible(char each) {
        return (each >= 0x7f && each < 0xa0) || each == 0x2028 || each == 0x2029 || each >= 0xfeff;
    }
}
