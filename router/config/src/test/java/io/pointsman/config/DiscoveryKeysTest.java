package io.pointsman.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.pointsman.config.key.DiscoveryKeys;
import io.pointsman.config.settings.DiscoverySettings;
import io.pointsman.config.settings.DiscoverySettings.DnsName;
import io.pointsman.config.settings.DiscoverySettings.FileSource;
import io.pointsman.config.value.RawValue;
import io.pointsman.engine.fleet.Role;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DiscoveryKeysTest {
  private static DiscoverySettings read(String yaml) {
    return PointsmanConfig.from(YamlConfig.parse("test", yaml)).discovery();
  }

  @Test
  void aFileIsAPathOrAGroup() {
    assertThat(read("discovery: {file: /etc/workers.yaml}").file())
        .isEqualTo(new FileSource("/etc/workers.yaml", Duration.ofSeconds(1)));
    assertThat(read("discovery: {file: {path: w.json, interval: 5s}}").file())
        .isEqualTo(new FileSource("w.json", Duration.ofSeconds(5)));
    assertThat(read("discovery: {file: ''}").file().enabled()).isFalse();
  }

  @Test
  void aNameHasThePropertiesOfItsWorkers() {
    DnsName name =
        read("""
        disaggregation: {protocol: nixl}
        discovery:
          dns:
            - {name: engines.test, port: 8000, model: m, role: decode, weight: 2,
               labels: {rack: r1}, interval: 10s, tries: 5}
        """)
            .dns()
            .getFirst();
    assertThat(name.name()).isEqualTo("engines.test");
    assertThat(name.port()).isEqualTo(8000);
    assertThat(name.srv()).isFalse();
    assertThat(name.interval()).isEqualTo(Duration.ofSeconds(10));
    assertThat(name.tries()).isEqualTo(5);
    assertThat(name.worker().models()).containsExactly("m");
    assertThat(name.worker().role()).isEqualTo(Role.DECODE);
    assertThat(name.worker().weight()).isEqualTo(2);
    assertThat(name.worker().labels()).containsEntry("rack", "r1");
  }

  @Test
  void aFlagNamesAddressesOrServiceRecords() {
    ConfigValues values = new ConfigValues();
    values.read(DiscoveryKeys.DNS, new RawValue.Scalar("engines:8000,_http._tcp.engines", "--dns"));
    List<DnsName> names = values.get(DiscoveryKeys.DNS);
    assertThat(names)
        .extracting(DnsName::shown)
        .containsExactly("engines:8000", "_http._tcp.engines");
    assertThat(names).extracting(DnsName::srv).containsExactly(false, true);
    assertThat(names.getFirst().interval()).isEqualTo(DnsName.INTERVAL);
  }

  @Test
  void aPrintedNameReadsBackUnchanged() {
    String yaml =
        """
        discovery:
          dns:
            - {name: a.test, port: 1, models: [m, n], max-in-flight: 3, labels: {x: "y z"}}
            - {name: _http._tcp.b, srv: true, tries: 1}
        """;
    ConfigValues values = YamlConfig.parse("test", yaml);
    ConfigValues again = YamlConfig.parse("printed", ConfigText.of(values));
    assertThat(again.get(DiscoveryKeys.DNS)).isEqualTo(values.get(DiscoveryKeys.DNS));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{dns: [{port: 1}]} | name: missing (expected: a name in DNS)",
        "{dns: [{name: a}]} | port: missing (expected: the port of the engines, or srv: true)",
        "{dns: [{name: a, port: 1, srv: true}]} | port: set with srv",
        "{dns: [{name: 10.0.0.1, port: 1}]} | (expected: a name; workers lists addresses)",
        "{dns: [{name: 'a b', port: 1}]} | name: a b (expected: a name in DNS)",
        "{dns: [{name: a, port: 0}]} | port: 0 (expected: a whole number, 1 to 65535)",
        "{dns: [{name: a, port: 1, url: x}]} | url: set (expected: name and port",
        "{dns: [{name: a, port: 1, rol: x}]} | rol: unknown key (did you mean role?)",
        "{dns: [{name: a, port: 1, model: m, models: [m]}]} | model: set with models",
        "{dns: [{name: a, port: 1, role: decode}]} | discovery: dns: a:1: ",
        "{dns: [{name: a, port: 1}, {name: a, port: 1}]} | a:1 (expected: each name and port once)",
        "{dns: [engines]} | engines (expected: name:port, the name of SRV records",
        "{file: {interval: 5s}} | path: missing (expected: the path of a file)",
        "{file: {path: f, interval: 1}} | interval: 1 (expected: ",
        "{file: {pth: f}} | pth: unknown key (did you mean path?)",
        "{file: [f]} | a list (expected: the path of a file"
      })
  void wrongValuesAreRefusedWithTheReason(String value, String reason) {
    assertThatThrownBy(() -> read("discovery: " + value))
        .isInstanceOf(ConfigException.class)
        .hasMessageContaining(reason.strip());
  }
}
