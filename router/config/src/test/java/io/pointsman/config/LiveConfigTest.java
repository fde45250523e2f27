package io.pointsman.config;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Changes of the configuration that a running router takes over. */
class LiveConfigTest {
  private static PointsmanConfig config(String yaml) {
    return PointsmanConfig.from(YamlConfig.parse("test", yaml));
  }

  private static boolean changes(String before, String next) {
    return config(before).canBecome(config(next));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "workers: ['http://a:1']",
        "model-aliases: {a: b}",
        "policy: random",
        "policy: cache_aware\nbalance: {abs-threshold: 3}",
        "session-affinity: soft",
        "cost: {tie-millis: 7}",
        "timeouts: {total: 7s}",
        "timeouts: {idle: 7s}",
        "retry: {max-attempts: 7}",
        "limits: {max-body: 7MiB}",
        "limits: {max-concurrent-requests: 7}",
        "limits: {queue-size: 7}",
        "limits: {max-buffered-share: 0.25}",
        "limits: {min-upload-rate: 7}",
        "limits: {searches-per-second: 7}",
        "limits: {standard-methods: true}",
        "forwarded: {trusted-proxies: ['10.0.0.0/8']}",
        "cors: {enabled: true}",
        "sse-keepalive: 7s",
        "drain-timeout: 7s",
        "health: {interval: 7s}",
        "breaker: {failure-threshold: 7}",
        "stall: {patience: 7s}",
        "slow-start: 7s",
        "admin: {port: 29001}",
        "admin: {port: 7}",
        "listen: {port: 7, host: '::1', backlog: 7}",
        "metrics: {port: 7, host: '::1'}",
        "api-key: secret",
        "worker-api-keys: {'http://a:1': secret}",
        "health: {api-key: secret}",
        "admin: {api-key: secret}",
        "admin: {names: [router.test]}",
        "admin: {on-client-port: true}",
        "admin: {worker-networks: ['10.0.0.0/8']}",
        "insecure-admin: true",
        "decide: {api-key: secret}",
        "batch: {api-key: secret}",
        "paths: {allow: [api]}",
        "auth: {keys-file: keys.yaml}",
        "auth: {validation-urls: ['http://a:1']}",
        "auth: {verdict-ttl: 7s}",
        "log: {level: debug}",
        "log: {format: json, directory: logs}",
        "shadow-policy: random",
        "capture: {file: a.jsonl, max-bytes: 7MiB, files: 7}",
        "discovery: {file: workers.yaml}",
        "discovery: {dns: [{name: engines.test, port: 8000}]}",
        "kubernetes: {selector: 'app=vllm'}",
        "kv-events: {mode: auto}",
        "kv-events: {mode: static, endpoint: 'tcp://*:5557', topic: x, ranks: 2}",
        "kv-events: {refresh: 7s, max-message-bytes: 7MiB, max-batch-events: 7, replay-timeout:"
            + " 7s}",
        "kv-tokens: {enabled: false}",
        "engine-tls: {ca-file: a.pem, certificate-file: b.pem, key-file: c.pem}",
        "engine-tls: {server-name: a, insecure-skip-verify: true}",
        "kv-tokens: {share: 0.5, parallelism: 7, queue: 7, timeout: 7s, max-bytes: 7MiB}",
        "kv-aware: {temperature: 1, index-max-bytes: 7MiB}",
        "admin: {enabled: false}",
        "admin: {stack-endpoints: true, refused-paths: [/x], ray-application: a}",
        "models: {merged: false}",
        "decide: {enabled: false}",
        "decide: {max-leases: 7}",
        "metrics: {enabled: false}",
        "metrics: {vllm-router-names: true, like-production-stack: true}",
        "admin: {add-timeout: 7s}",
        "admin: {control-timeout: 7s}",
        "admin: {data-parallel-size: 7}",
        "tracing: {sampling-ratio: 0.5}",
        "tracing: {excluded-paths: [/x]}",
        "pool: {idle-timeout: 7s}",
        "pool: {max-idle-per-worker: 7}",
        "pool: {name-ttl: 7s, tcp-user-timeout: 7s}",
        "decide: {max-share: 0.25, failure-share: 0.25, ttl: 7s, max-ttl: 7m, max-lifetime: 7h}",
        "timeouts: {connect: 7s}",
        "retry: {poison-entries: 7}",
        "limits: {max-connections: 7}",
        "limits: {max-connections-per-address: 7}",
        "http2: {enabled: false}",
        "log: {access: all}",
        "log: {requests: true}",
        "log: {audit: false}",
        "health: {answer: all}",
        "max-workers: 7",
        "system-scheduling: false",
        "engine-load: {interval: 7s}",
        "decisions: {sample: 0.5, keep: 7}",
        "unknown-model: base-model",
        "adapters: {max-per-worker: 7}",
        "locality: {zone: a}",
        "queue: {wake-sleeping: true, defer-without-worker: 7s}",
        "tls: {certificate-file: a.pem, key-file: b.pem, provider: jdk, handshake-timeout: 7s}",
        "admin-tls: {certificate-file: a.pem, client-ca-file: b.pem}",
        "metrics-tls: {certificate-file: a.pem, key-file: b.pem}",
        "tracing: {enabled: true, endpoint: 'http://c:1', protocol: http, service-name: other}",
        "batch: {max-file: 7MiB, max-total: 7MiB, max-share: 0.25, max-requests: 7}",
        "batch: {parallelism: 7, attempts: 7, request-timeout: 7s}",
        "batch: {enabled: true}",
        "batch: {enabled: true, directory: other}",
        "batch: {enabled: true}\nauth: {keys-file: keys.yaml}",
        "plugins: {directory: jars}",
        "disaggregation: {protocol: nixl}",
        "disaggregation: {protocol: lmcache, notification-address: 'h:1'}",
        "disaggregation: {protocol: moriio, registration-address: 'h:1'}",
        "decide: {spoe-address: '127.0.0.1:7'}"
      })
  void aRunningRouterTakesOver(String change) {
    assertThat(changes("", change)).isTrue();
    assertThat(changes(change, "")).isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"max-workers: 16385", "event-loop-threads: 3"})
  void otherKeysNeedARestart(String change) {
    assertThat(changes("", change)).isFalse();
    assertThat(changes("", "policy: random\n" + change)).isFalse();
  }

  @Test
  void theKindsOfClientsStayWhileTheyOwnFiles() {
    String files = "batch: {enabled: true}\n";
    assertThat(changes(files, files + "auth: {keys-file: a.yaml}")).isFalse();
    assertThat(changes(files, files + "auth: {validation-urls: ['http://a:1']}")).isFalse();
    assertThat(changes(files, files + "listen: {port: 7}")).isTrue();
    String other = "batch: {enabled: true, directory: other}\n";
    assertThat(changes(files, other + "auth: {keys-file: a.yaml}")).isTrue();
    String tls = files + "tls: {certificate-file: a.pem, client-certificates: optional";
    assertThat(changes(files, tls + "}")).isTrue();
    assertThat(changes(tls + "}", tls + ", client-ca-file: b.pem}")).isFalse();
    String keys = files + "auth: {keys-file: a.yaml}";
    assertThat(changes(keys, files + "auth: {keys-file: b.yaml, verdict-ttl: 7s}")).isTrue();
  }

  @Test
  void keysOfTwoRolesChange() {
    String two = "disaggregation: {protocol: nixl";
    assertThat(changes(two + "}", two + ", prefill-api-key: a, decode-api-key: b}")).isTrue();
  }

  @Test
  void policiesOfTwoRolesChange() {
    String two = "disaggregation: {protocol: nixl}\n";
    assertThat(changes(two, two + "policy: random")).isTrue();
    assertThat(changes(two, two + "session-affinity: soft")).isTrue();
    assertThat(changes(two, "disaggregation: {protocol: nixl, prefill-policy: random}")).isTrue();
    assertThat(changes(two, "disaggregation: {protocol: nixl, decode-policy: random}")).isTrue();
    assertThat(changes(two, "disaggregation: {protocol: nixl, threshold: 7}")).isTrue();
    assertThat(changes(two, "disaggregation: {protocol: transparent}")).isTrue();
    assertThat(changes(two, "disaggregation: {protocol: nixl, max-prefills: 7}")).isTrue();
    assertThat(changes("", two)).isTrue();
    assertThat(changes(two, "")).isTrue();
  }
}
