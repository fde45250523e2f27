package io.pointsman.tool.bench.contender;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Configurations of the other proxies, as a careful operator writes them. They use least-load
 * balancing, health checks, and keep-alive on both sides; logs, needless buffers and limits are
 * off.
 *
 * <p>A proxy has one configuration for all workloads. HAProxy therefore uses {@code http-no-delay},
 * which streams of tokens need. Debian's nginx has no active health checks.
 */
final class ProxyConfigs {
  /** Model of the benchmark's backend. */
  static final String MODEL = "bench-model";

  private ProxyConfigs() {}

  /** A file with one key of a client. Its limits of every kind are never reached. */
  static String keys(String key) {
    return """
    keys:
      - name: bench
        role: client
        hash: sha256:%s
        limits:
          concurrency: 1000000
          requests-per-minute: 1000000000
          prompt-tokens-per-minute: 1000000000
          output-tokens-per-minute: 1000000000
          requests-per-day: 1000000000
          tokens-per-day: 1000000000
    """
        .formatted(sha256(key));
  }

  private static String sha256(String key) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      return HexFormat.of().formatHex(digest.digest(key.getBytes(StandardCharsets.UTF_8)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e); // each Java runtime has it
    }
  }

  static String haproxy(StartParameters place) {
    return """
    global
      nbthread %d
      maxconn %d
    defaults
      mode http
      timeout connect 5s
      timeout client 600s
      timeout server 600s
      option http-keep-alive
      option http-no-delay
      http-reuse always
    frontend front
      bind 127.0.0.1:%d
      default_backend engines
    backend engines
      balance leastconn
      option httpchk GET /health
      default-server check inter 10s pool-max-conn -1
    %s
    """
        .formatted(
            place.cores(),
            place.streams() + 100,
            place.port(),
            each(place.addresses(), (i, address) -> "  server w%d %s".formatted(i, address)));
  }

  static String nginx(StartParameters place) {
    return """
    daemon off;
    worker_processes %d;
    worker_rlimit_nofile %d;
    error_log stderr crit;
    pid nginx.pid;
    events { worker_connections %d; }
    http {
      access_log off;
      tcp_nodelay on;
      client_max_body_size 64m;
      client_body_buffer_size 512k;
      client_body_temp_path body;
      proxy_temp_path proxy;
      fastcgi_temp_path fastcgi;
      uwsgi_temp_path uwsgi;
      scgi_temp_path scgi;
      keepalive_requests 100000000;
      upstream engines {
        least_conn;
        keepalive 512;
        keepalive_requests 100000000;
    %s
      }
      server {
        listen 127.0.0.1:%d backlog=4096;
        location / {
          proxy_pass http://engines;
          proxy_http_version 1.1;
          proxy_set_header Connection "";
          proxy_buffering off;
          proxy_read_timeout 600s;
        }
      }
    }
    """
        .formatted(
            place.cores(),
            2 * place.streams() + 200 + place.workers().size(),
            2 * place.streams() + 150 + place.workers().size(),
            each(place.addresses(), (_, address) -> "    server %s;".formatted(address)),
            place.port());
  }

  static String envoy(StartParameters place) {
    String workers =
        each(
            place.addresses(),
            (_, address) -> {
              String[] parts = address.split(":", 2);
              return ("      - endpoint: { address: { socket_address: { address: %s,"
                      + " port_value: %s } } }")
                  .formatted(parts[0], parts[1]);
            });
    return """
    static_resources:
      listeners:
      - name: front
        address: { socket_address: { address: 127.0.0.1, port_value: %d } }
        filter_chains:
        - filters:
          - name: envoy.filters.network.http_connection_manager
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
              stat_prefix: front
              stream_idle_timeout: 600s
              http_filters:
              - name: envoy.filters.http.router
                typed_config:
                  "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
              route_config:
                virtual_hosts:
                - name: all
                  domains: ["*"]
                  routes:
                  - match: { prefix: "/" }
                    route: { cluster: engines, timeout: 0s }
      clusters:
      - name: engines
        type: STATIC
        connect_timeout: 5s
        lb_policy: LEAST_REQUEST
        circuit_breakers:
          thresholds:
          - { max_connections: 100000, max_pending_requests: 100000, max_requests: 100000, max_retries: 3 }
        health_checks:
        - timeout: 2s
          interval: 10s
          no_traffic_interval: 10s
          healthy_threshold: 1
          unhealthy_threshold: 2
          http_health_check: { path: /health }
        load_assignment:
          cluster_name: engines
          endpoints:
          - lb_endpoints:
    %s
    """
        .formatted(place.port(), workers.indent(4).stripTrailing());
  }

  static String litellm(StartParameters place) {
    return "model_list:\n"
        + each(
            place.workers(),
            (_, url) ->
                """
                  - model_name: %s
                    litellm_params:
                      model: hosted_vllm/%s
                      api_base: %s/v1
                      api_key: none\
                """
                    .formatted(MODEL, MODEL, url))
        + "\n";
  }

  private interface Line {
    String of(int index, String text);
  }

  private static String each(List<String> texts, Line line) {
    return IntStream.range(0, texts.size())
        .mapToObj(i -> line.of(i, texts.get(i)))
        .collect(Collectors.joining("\n"));
  }
}
