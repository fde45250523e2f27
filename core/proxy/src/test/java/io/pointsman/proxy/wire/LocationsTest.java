package io.pointsman.proxy.wire;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LocationsTest {
  @ParameterizedTest
  @CsvSource({
    "http://engine:8000, http://engine:8000/v1/chat, /v1/chat",
    "http://engine:8000, HTTP://Engine:8000/v1/chat?a=1#x, /v1/chat?a=1#x",
    "http://engine:8000, https://engine:8000/v1, /v1",
    "http://engine:8000, http://engine:8000, /",
    "http://engine:8000, http://engine:8000?a=1, /?a=1",
    "http://engine:8000, http://engine:8000//other/x, /.//other/x",
    "http://engine:8000, http://engine:8001/v1, http://engine:8001/v1",
    "http://engine:8000, http://engine/v1, http://engine/v1",
    "http://engine:8000, http://other:8000/v1, http://other:8000/v1",
    "http://engine:8000, http://engine:8000.example/v1, http://engine:8000.example/v1",
    "http://engine:8000, /v1/chat, /v1/chat",
    "http://engine:8000, //engine:8000/v1, /v1",
    "http://engine, //Engine/v1?a=1, /v1?a=1",
    "https://engine, //engine:443, /",
    "https://engine, //engine:80/v1, //engine:80/v1",
    "http://engine:8000, //engine:8000//x, /.//x",
    "http://engine:8000, //other:8000/v1, //other:8000/v1",
    "http://engine:8000, ///v1, ///v1",
    "http://engine:8000, ../x, ../x",
    "http://engine, http://engine:80/v1, /v1",
    "https://engine, https://engine/v1, /v1",
    "https://engine, https://engine:443/v1, /v1",
    "http://[::1]:8000, http://[::1]:8000/v1, /v1",
    "http://[::1], http://[::1]:80/v1, /v1",
    "http://engine:8000/base, http://engine:8000/base/v1, /v1",
    "http://engine:8000/base/, http://engine:8000/base, /",
    "http://engine:8000/base, http://engine:8000/based, /based",
    "http://engine:8000/base, /base/v1, /v1",
  })
  void urlsOfTheWorkerBecomePaths(String worker, String value, String expected) {
    assertThat(new Locations(worker).forClient(value)).isEqualTo(expected);
  }
}
