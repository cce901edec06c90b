"""The reader by bytes: what botocore's parser reads, or nothing."""

import re

import pytest
from botocore.session import get_session
from hypothesis import given
from hypothesis import strategies as st

from orphangc.adapters.s3.pages.list_requests import UnreadablePageError
from orphangc.adapters.s3.pages.page_parser import Page, read_page
from orphangc.adapters.s3.pages.parsed_pages import parse_page

SHAPE = get_session().get_service_model("s3").operation_model("ListObjectsV2").output_shape
XMLNS = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'
ETAG = "4b3a6218bb3e3a7303e8a171a60fcf92"

AWS = "<Contents><Key>{}</Key><LastModified>2026-11-21T17:55:59.000Z</LastModified><ETag>&quot;{}&quot;</ETag><ChecksumAlgorithm>CRC64NVME</ChecksumAlgorithm><ChecksumType>FULL_OBJECT</ChecksumType><Size>{}</Size><StorageClass>STANDARD</StorageClass></Contents>"  # noqa: E501
RADOSGW = "<Contents><Key>{}</Key><LastModified>2026-11-21T17:55:59.510Z</LastModified><ETag>&quot;{}&quot;</ETag><Size>{}</Size><StorageClass>STANDARD</StorageClass><Type>Normal</Type></Contents>"  # noqa: E501
SWIFT = '<Contents><Key>{}</Key><LastModified>2026-11-21T17:57:09.000Z</LastModified><ETag>"{}"</ETag><Size>{}</Size><StorageClass>STANDARD</StorageClass></Contents>'  # noqa: E501
OWNED = "<Contents><Key>{}</Key><LastModified>2026-11-21T17:57:09Z</LastModified><ETag>&quot;{}&quot;</ETag><Size>{}</Size><Owner><ID>i</ID><DisplayName>d é</DisplayName></Owner><StorageClass>STANDARD</StorageClass></Contents>"  # noqa: E501
NO_ETAG = "<Contents><Size>{2}</Size><Key>{0}</Key><LastModified>2026-11-21T17:57:09.000Z</LastModified></Contents>"  # noqa: E501
KEYS = ["cp/job/shared/00ff-1", "cp/job/shared/a+b%20%26", "cp/job/%F0%9F%99%82", "cp/%252F", "cp/"]


def rows(form: str, keys: list[str]) -> str:
    return "".join(form.format(key, ETAG[at:], at * 17) for at, key in enumerate(keys))


def whole(contents: str, *, head: str = "", tail: str = "", start: str | None = None) -> bytes:
    declaration = '<?xml version="1.0" encoding="UTF-8"?>\n' if start is None else start
    return (
        f"{declaration}<ListBucketResult {XMLNS}>{head}{contents}{tail}</ListBucketResult>".encode()
    )


LAST = "<Name>b</Name><Prefix>cp/</Prefix><MaxKeys>1000</MaxKeys><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>"  # noqa: E501
MORE = LAST.replace("false", "true")
PAGES = {
    "aws": whole(rows(AWS, KEYS), head=f"{MORE}<KeyCount>5</KeyCount>"
                 "<NextContinuationToken>1ueGc/Y=</NextContinuationToken>"),
    "radosgw": whole(rows(RADOSGW, [key.replace("/", "%2F") for key in KEYS]), start="", head=MORE,
                     tail="<KeyCount>5</KeyCount><StartAfter>cp/a&amp;</StartAfter>"
                     "<NextContinuationToken>cp/&lt;&amp;lt;</NextContinuationToken>"),
    "swift": whole(rows(SWIFT, KEYS), head=LAST + "<StartAfter></StartAfter>",
                   start="<?xml version='1.0' encoding='UTF-8'?>\n"),
    "owned": whole(rows(OWNED, KEYS[:3]), head=LAST, tail="<Delimiter/>"),
    "mixed": whole(rows(AWS, KEYS[:2]) + rows(RADOSGW, KEYS) + rows(NO_ETAG, KEYS) +
                   rows(AWS, KEYS), head=LAST),
    "not-encoded": whole(rows(AWS, ["cp/a b%", "cp/é+", "cp/x>y"]),
                         head=LAST.replace("<EncodingType>url</EncodingType>", "")),
    "empty": whole("", head=LAST + "<KeyCount>0</KeyCount>"),
}  # fmt: skip


def parsed(body: bytes, prefix: str = "cp/", root: str = "") -> Page | None:
    try:
        return parse_page(body, prefix, SHAPE, root=root)
    except UnreadablePageError:
        return None


def agree(fast: Page, stock: Page | None) -> bool:
    return stock is not None and (
        fast.objects.equals(stock.objects)
        and fast.keys.equals(stock.keys)
        and (fast.prefixes, fast.is_truncated, fast.token)
        == (stock.prefixes, stock.is_truncated, stock.token)
    )


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("prefix", "root"), [("cp/", ""), ("cp/", "cp/"), ("", ""), ("c", "c")])
def test_every_usual_form_is_read_as_botocore_reads_it(name, prefix, root):
    """Amazon's, radosgw's and Swift's pages, one with several forms, and one without objects."""
    fast = read_page(PAGES[name], prefix, root=root)
    assert fast is not None
    assert agree(fast, parsed(PAGES[name], prefix, root))


def test_what_is_read_is_what_stands_there():
    """Both readers could be wrong in the same way."""
    page = read_page(PAGES["radosgw"], "cp/", root="cp/")
    keys = ["job/shared/00ff-1", "job/shared/a b &", "job/🙂", "%2F", ""]
    assert page.objects["key"].to_pylist() == keys
    assert page.objects["size"].to_pylist() == [0, 17, 34, 51, 68]
    assert page.objects["etag"].to_pylist() == [ETAG[at:] for at in range(5)]
    assert {str(each) for each in page.objects["modified_at"].to_pylist()} == {
        "2026-11-21 17:55:59+00:00"
    }
    assert (page.is_truncated, page.token) == (True, "cp/<&lt;")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_that_is_cut_off_anywhere_is_no_page(name):
    """A connection that ends early must not look like the end of the listing."""
    body = PAGES[name]
    for length in range(len(body)):
        assert read_page(body[:length], "cp/") is None, body[:length][-40:]
        assert parsed(body[:length]) is None


@pytest.mark.parametrize("name", PAGES)
def test_keys_from_elsewhere_are_declined(name):
    """Be it all of them, or one."""
    if name == "empty":
        return
    assert read_page(PAGES[name], "elsewhere/") is None
    stray = PAGES[name].replace(b"<Key>cp", b"<Key>cq").replace(b"<Key>cq", b"<Key>cp", 2)
    if stray != PAGES[name]:
        assert read_page(stray, "cp/") is None
        assert parsed(stray) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"<Size>17</Size>", b""),
        (b"<Size>17</Size>", b"<Size>17</Size><Size>17</Size>"),
        (b"<Size>17</Size>", b"<Size>17</Size><!-- x -->"),
        (b"<Size>17</Size>", b"<Size>17</Size><X>1</X>"),
        (b"<Size>17</Size>", b"<Size>1 7</Size>"),
        (b"<Size>17</Size>", b"<Size>0x7</Size>"),
        (b"<Size>17</Size>", b"<Size>99999999999999999999</Size>"),
        (b"<Size>17</Size>", b"<Size>-17</Size>"),
        (b"<Size>17</Size>", b"<Size></Size>"),
        (b"<Size>17</Size>", b"<Size x='1'>17</Size>"),
        (b"<Size>17</Size>", b"<Size>17</size>"),
        (b"<Size>17</Size>", b"<Size >17</Size>"),
        (b"<Size>17</Size>", b"<Size>17</Size>\n"),
        (b"<Size>17</Size>", b"<RestoreStatus><X>x</X></RestoreStatus><Size>17</Size>"),
        (b"a+b%20%26", b"<![CDATA[a+b%20%26]]>"),
        (b"a+b%20%26", b"a&amp;b"),
        (b"a+b%20%26", b"a&#65;b"),
        (b"a+b%20%26", b"a&nope;b"),
        (b"a+b%20%26", b"a%2"),
        (b"a+b%20%26", b"a%%41"),
        (b"a+b%20%26", b"a%FF"),
        (b"a+b%20%26", b"a%g0%90%80%80"),
        (b"a+b%20%26", b"a\xff"),
        (b"a+b%20%26", b"a\x01"),
        (b"a+b%20%26", b"a\rb"),
        (b"a+b%20%26", b"a\xef\xbf\xbf"),
        (b"a+b%20%26", b"a]]>b"),
        (b"&quot;" + ETAG[1:].encode(), ETAG[1:].encode()),
        (b"&quot;" + ETAG[1:].encode() + b"&quot;", b"&quot;"),
        (b">STANDARD<", b">STAND&amp;ARD<"),
        (b">STANDARD<", b">STAND&ARD<"),
        (b"17:55:59", b"17:55:60"),
        (b"17:55:59", b"24:00:00"),
        (b"2026-11-21", b"0000-11-21"),
        (b"2026-11-21", b"2026-02-30"),
        (b"2026-11-21T", b"2026-11-21 "),
        (b"59.000Z", b"59.000+01:00"),
        (b"59.000Z", b"59.0x0Z"),
        (b"<IsTruncated>true<", b"<IsTruncated>false</IsTruncated><IsTruncated>true<"),
        (b"<IsTruncated>true<", b"<IsTruncated>True<"),
        (b"<IsTruncated>true</IsTruncated>", b""),
        (b"<IsTruncated>true</IsTruncated>", b"<IsTruncated/>"),
        (b"<KeyCount>5<", b"<KeyCount>6<"),
        (b"<KeyCount>5<", b"<KeyCount>4<"),
        (b"<EncodingType>url<", b"<EncodingType>xml<"),
        (b"<MaxKeys>1000<", b"<MaxKeys>many<"),
        (b"</Contents><Contents>", b"</Contents>text<Contents>"),
        (b"<Name>b</Name>", b"<Name>b</Name><Unknown/>"),
        (b"<Name>b</Name>", b"<CommonPrefixes><Prefix>cp/x/</Prefix></CommonPrefixes>"),
        (b"<Name>b</Name>", b"<!DOCTYPE x []>"),
        (b"</ListBucketResult>", b"</ListBucketResult><x/>"),
        (b"<ListBucketResult", b"<!-- x --><ListBucketResult"),
        (b"ListBucketResult", b"ListVersionsResult"),
        (b"<Prefix>cp/</Prefix>", b"<Prefix>cp/"),
        (b'"UTF-8"', b'"ISO-8859-1"'),
    ],
)  # fmt: skip
def test_what_is_odd_is_declined(old, new):
    """What one element has that all others have not leaves the page to botocore."""
    body = PAGES["aws"].replace(old, new, 1)
    assert body != PAGES["aws"]
    assert read_page(body, "cp/") is None


@pytest.mark.parametrize("old", [b"/x>y", b"&quot;4b", b"STANDARD", b"<Name>b"])
def test_a_page_that_is_not_utf_8_is_declined(old):
    """In a key, in another value, or around the objects."""
    body = PAGES["not-encoded"]
    assert old in body
    assert read_page(body.replace(old, old + b"\xff", 1), "cp/") is None
    assert read_page(body.replace(old, old + b"\xef\xbf\xbf", 1), "cp/") is None


def test_a_page_of_more_forms_than_anybody_writes_is_declined():
    """No row is left out because there are too many kinds of them."""
    extra = "<ChecksumAlgorithm>CRC32</ChecksumAlgorithm>"
    for count, is_read in ((16, True), (17, False)):
        contents = [
            SWIFT.format(f"cp/{at}", ETAG, 1).replace("<Size>", extra * at + "<Size>")
            for at in range(count)
        ]
        body = whole("".join(contents), head=LAST)
        fast = read_page(body, "cp/")
        assert agree(fast, parsed(body)) if is_read else fast is None


PIECES = re.compile(rb"<[^>]*>|[^<]+")
SPICE = [b"<!-- c -->", b"<![CDATA[x]]>", b"&amp;", b"&lt;", b"&#x41;", b"%", b"%41", b"+", b"\n",
         b"]]>", b">", b"<", b'"', b"\xc3\xa9", b"\xff", b"0", b"<Owner><ID>i</ID></Owner>",
         b"<Contents>", b"</Contents>", b"<Key>cp/x</Key>", b"<ETag/>", b"</ListBucketResult>",
         b"<IsTruncated>true</IsTruncated>", b"<RestoreStatus><X/></RestoreStatus>"]  # fmt: skip


@st.composite
def mutants(draw) -> bytes:
    """Return a page of which some pieces were dropped, doubled, moved, altered or added."""
    pieces = PIECES.findall(draw(st.sampled_from(sorted(PAGES.values()))))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(pieces) - 1))
        other = draw(st.integers(0, len(pieces) - 1))
        match draw(st.integers(0, 6)):
            case 0:
                pieces[at : at + draw(st.integers(1, 12))] = []
                pieces = pieces or [b""]
            case 1:
                pieces[at:at] = pieces[at : at + draw(st.integers(1, 20))]
            case 2:
                pieces[at], pieces[other] = pieces[other], pieces[at]
            case 3:
                pieces.insert(at, draw(st.sampled_from(SPICE)))
            case 4:
                cut = draw(st.integers(0, len(pieces[at])))
                pieces[at] = pieces[at][:cut] + draw(st.sampled_from(SPICE)) + pieces[at][cut:]
            case 5:
                pieces[at] = pieces[other]
            case _:
                cut = draw(st.integers(0, max(len(pieces[at]) - 1, 0)))
                letter = draw(st.binary(max_size=1))
                pieces[at] = pieces[at][:cut] + letter + pieces[at][cut + 1 :]
    return b"".join(pieces)


@given(mutants(), st.sampled_from(["", "cp/"]))
def test_a_mutant_is_read_as_botocore_reads_it_or_declined(body, root):
    """This is the only rule: it depends on no imagined form and on no known server."""
    fast = read_page(body, "cp/", root=root)
    assert fast is None or agree(fast, parsed(body, "cp/", root))


@given(
    st.lists(
        st.text(
            st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="<>&\ufffe\uffff")
        ),
        max_size=30,
    )
)
def test_any_keys_are_read_as_botocore_reads_them(keys):
    """Lengths, scripts and what looks like an escape."""
    body = whole(rows(SWIFT, [f"cp/{key}" for key in keys]), head=LAST)
    fast = read_page(body, "cp/", root="cp/")
    assert fast is None or agree(fast, parsed(body, "cp/", "cp/"))
    plain = body.replace(b"<EncodingType>url</EncodingType>", b"")
    assert agree(read_page(plain, "cp/", root="cp/"), parsed(plain, "cp/", "cp/"))


def test_a_thousand_objects_of_two_forms_keep_their_order():
    """A bucket whose writer was upgraded: checksums on some objects, none on others."""
    keys = [f"cp/{number:05}" for number in range(1000)]
    forms = (AWS.replace("&quot;", '"'), SWIFT)
    contents = [forms[at % 3 > 0].format(key, ETAG, at) for at, key in enumerate(keys)]
    body = whole("".join(contents), head=LAST)
    page = read_page(body, "cp/")
    assert page.objects["key"].to_pylist() == keys
    assert agree(page, parsed(body))
