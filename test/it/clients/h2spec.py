"""Compares reports of h2spec (JUnit) with the failures that are known and harmless. Standard library only."""

import sys
import xml.etree.ElementTree as xml

# Requests on streams that are over. The codec resets such a stream, or ignores it if its answer is complete. h2spec
# expects the end of the connection, or a certain reason.
KNOWN = {
    "half closed (remote): Sends a HEADERS frame",
    "closed: Sends a HEADERS frame",
    "Sends stream identifier that is numerically smaller than previous",
    # In clear text it is a request of HTTP/1.1, which gets 400 before the connection closes.
    "Sends invalid connection preface",
}

wrong = False
for report in sys.argv[1:]:
    cases = xml.parse(report).iter("testcase")
    failed = set()
    count = 0
    for case in cases:
        count += 1
        if case.find("failure") is not None or case.find("error") is not None:
            failed.add(case.get("classname"))
    new = failed - KNOWN
    wrong = wrong or bool(new) or count < 100
    print(f"{'FAILS ' if new or count < 100 else 'ok    '} {report.rsplit('/', 1)[-1]}: {count} cases, "
          f"{len(failed & KNOWN)} known deviations" + "".join(f"\n       {each}" for each in sorted(new)))
sys.exit(wrong)
