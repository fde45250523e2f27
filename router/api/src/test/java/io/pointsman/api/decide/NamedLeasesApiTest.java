package io.pointsman.api.decide;

import static io.pointsman.api.decide.DecideFixture.CHAT;
import static io.pointsman.api.decide.DecideFixture.json;
import static org.assertj.core.api.Assertions.assertThat;

import io.pointsman.proxy.local.LocalResponse;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Leases with ids from their proxies, over HTTP. */
class NamedLeasesApiTest {
  private static final String ID = "550e8400-e29b-41d4-a716-446655440000";
  private static final String EXPECTED = "(expected: 28 to 64 letters, digits, - and _)";

  private final DecideFixture plane = new DecideFixture("random").withWorkers(1);

  private LocalResponse decide(String fields) throws Exception {
    return plane.post("/v1/decide", "{" + fields + ",\"body\":" + CHAT + "}");
  }

  private LocalResponse route(String... headers) throws Exception {
    return plane.post("/internal/route", CHAT, headers);
  }

  private LocalResponse settle() throws Exception {
    return plane.post("/v1/leases/" + ID + "/settle", "{\"outcome\":\"succeeded\"}");
  }

  private static void assertRefused(LocalResponse response, String code) throws Exception {
    assertThat(response.status()).isEqualTo(409);
    assertThat(json(response).path("error").path("code").asText()).isEqualTo(code);
    assertThat(json(response).path("error").path("message").asText()).startsWith("lease " + ID);
  }

  @Test
  void aProxyNamesItsLeaseInV1Decide() throws Exception {
    String named = "\"lease\":\"" + ID + "\"";

    assertThat(json(decide(named)).path("lease").asText()).isEqualTo(ID);
    assertRefused(decide(named), "lease_exists");
    assertThat(plane.inFlight()).isEqualTo(1);
    assertThat(settle().status()).isEqualTo(200);
    assertThat(settle().status()).isEqualTo(409);
    assertRefused(decide(named), "lease_settled");
    assertThat(plane.inFlight()).isZero();
  }

  @Test
  void aQuestionAfterItsSettlementGetsNoLease() throws Exception {
    LocalResponse early = settle();
    assertThat(early.status()).isEqualTo(404);
    assertThat(json(early).path("error").path("code").asText()).isEqualTo("lease_not_found");

    assertRefused(route("x-pointsman-lease-ttl", "1000", "x-pointsman-lease", ID), "lease_settled");

    assertThat(plane.inFlight()).isZero();
    assertThat(plane.choices.open()).isZero();
  }

  @Test
  void aProxyNamesItsLeaseInInternalRoute() throws Exception {
    LocalResponse held = route("x-pointsman-lease-ttl", "1000", "x-pointsman-lease", ID);

    assertThat(json(held).path("lease").asText()).isEqualTo(ID);
    assertRefused(route("x-pointsman-lease-ttl", "1000", "x-pointsman-lease", ID), "lease_exists");
    LocalResponse pointed = route("x-pointsman-lease", ID);
    assertThat(pointed.status()).as("nothing shall be held").isEqualTo(200);
    assertThat(json(pointed).has("lease")).isFalse();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"lease\":\"short\"|lease: short " + EXPECTED,
        "\"lease\":7|lease: of another type (expected: a string)",
        "\"lease\":\""
            + ID
            + "\",\"reserve\":false|lease: set (expected: no lease if reserve is false)"
      })
  void anInvalidLeaseIdIs400(String fields, String message) throws Exception {
    LocalResponse response = decide(fields);

    assertThat(response.status()).isEqualTo(400);
    assertThat(json(response).path("error").path("message").asText()).isEqualTo(message);
    assertThat(plane.inFlight()).isZero();
  }

  @Test
  void anInvalidLeaseHeaderIs400() throws Exception {
    LocalResponse response = route("x-pointsman-lease-ttl", "1000", "x-pointsman-lease", "a b");

    assertThat(response.status()).isEqualTo(400);
    assertThat(json(response).path("error").path("message").asText())
        .isEqualTo("lease: a b " + EXPECTED);
  }
}
