package io.pointsman.proxy.upstream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.ssl.ReferenceCountedOpenSslEngine;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import io.pointsman.engine.fleet.HostPort;
import io.pointsman.engine.fleet.WorkerSpec;
import io.pointsman.proxy.tls.TlsProvider;
import io.pointsman.testkit.TestCertificate;
import io.pointsman.testkit.TestCertificate.KeyKind;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.cert.CertPathBuilderException;
import java.security.cert.CertificateException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Settings of TLS to workers, and their handshakes. */
@Timeout(60)
class EngineTlsTest {
  @TempDir private static Path directory = Path.of(".");

  private static String shake(EngineTls tls, ServerSocket server, String host) throws IOException {
    try (Socket plain = new Socket(InetAddress.getLoopbackAddress(), server.getLocalPort());
        SSLSocket socket = tls.socket(plain, host, server.getLocalPort())) {
      socket.startHandshake();
      return socket.getSession().getProtocol();
    }
  }

  /** Completes the handshakes of all clients. */
  private static void accept(ServerSocket server) {
    while (!server.isClosed()) {
      try (Socket client = server.accept()) {
        int _ = client.getInputStream().read();
      } catch (IOException _) {
        // The client refused the certificate, or the test has ended.
      }
    }
  }

  @Test
  void theSystemsFileIsTrustedUnlessAnotherIsConfigured() throws Exception {
    TestCertificate own = TestCertificate.make(directory, "own", "dns:localhost");
    TestCertificate other = TestCertificate.make(directory, "other", "dns:localhost");
    String file = own.certificate().toString();
    EngineTlsSettings configured =
        new EngineTlsSettings(other.certificate().toString(), "", "", "", false);
    try (ServerSocket server = own.serverSocket(null)) {
      server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      Thread.startVirtualThread(() -> accept(server));

      assertThat(
              shake(
                  new EngineTls(EngineTlsSettings.DEFAULTS, file, TlsProvider.JDK),
                  server,
                  "localhost"))
          .startsWith("TLS");
      for (EngineTls tls :
          List.of(
              EngineTls.ofSystem(),
              new EngineTls(
                  EngineTlsSettings.DEFAULTS,
                  directory.resolve("none").toString(),
                  TlsProvider.JDK),
              new EngineTls(configured, file, TlsProvider.JDK))) {
        assertThatThrownBy(() -> shake(tls, server, "localhost")).isInstanceOf(SSLException.class);
      }
      EngineTls named = new EngineTls(EngineTlsSettings.DEFAULTS, file, TlsProvider.JDK);
      assertThatThrownBy(() -> shake(named, server, "127.0.0.1")).isInstanceOf(SSLException.class);
      named.follow(
          List.of(
              WorkerSpec.of("https://127.0.0.1:" + server.getLocalPort())
                  .withLabels(Map.of("tls-server-name", "localhost"))));
      assertThat(shake(named, server, "127.0.0.1")).startsWith("TLS");
    }
  }

  private static int talk(EngineTls tls, WorkerSpec worker, ServerSocket server) throws Exception {
    try (tls) {
      return talkOn(tls, worker, server);
    }
  }

  /** Opens a connection of an event loop, and reads until the server's byte, or its close. */
  private static int talkOn(EngineTls tls, WorkerSpec worker, ServerSocket server)
      throws Exception {
    EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    BlockingQueue<Integer> first = new LinkedBlockingQueue<>();
    try {
      String host = HostPort.ofUrl(worker.url()).bareHost();
      SslHandler handler =
          tls.handler(worker, host, server.getLocalPort(), ByteBufAllocator.DEFAULT);
      Channel channel =
          new Bootstrap()
              .group(loops)
              .channel(NioSocketChannel.class)
              .handler(
                  new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel opened) {
                      opened.pipeline().addLast(handler, new FirstByte(first));
                    }
                  })
              .connect(InetAddress.getLoopbackAddress(), server.getLocalPort())
              .sync()
              .channel();
      handler.handshakeFuture().sync();
      // With TLS 1.3 a server refuses a client's certificate after the handshake, perhaps already
      // now.
      channel.writeAndFlush(channel.alloc().buffer().writeByte('?')).await();
      return first.take();
    } finally {
      loops.shutdownGracefully(0, 10, TimeUnit.SECONDS).sync();
    }
  }

  /** Keeps the first byte; -1 if the connection closes before. */
  private static final class FirstByte extends ChannelInboundHandlerAdapter {
    private final BlockingQueue<Integer> first;

    FirstByte(BlockingQueue<Integer> first) {
      this.first = first;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      first.add((int) ((ByteBuf) msg).readByte());
      ReferenceCountUtil.release(msg);
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
      first.add(-1);
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
      ctx.close();
    }
  }

  /** Answers the byte of each client with another one. */
  private static void answer(ServerSocket server) {
    while (!server.isClosed()) {
      try (Socket client = server.accept()) {
        if (client.getInputStream().read() >= 0) {
          client.getOutputStream().write('!');
        }
      } catch (IOException _) {
        // The handshake failed, or the test has ended.
      }
    }
  }

  private static EngineTls tls(EngineTlsSettings settings, TlsProvider provider) {
    return new EngineTls(settings, "", provider);
  }

  @ParameterizedTest
  @EnumSource
  void connectionsOfEventLoopsCheckCertificateAndName(TlsProvider provider) throws Exception {
    TestCertificate own = TestCertificate.make(directory, "loop" + provider, "dns:localhost");
    TestCertificate other = TestCertificate.make(directory, "alien" + provider, "dns:localhost");
    String file = own.certificate().toString();
    EngineTlsSettings trusting = new EngineTlsSettings(file, "", "", "", false);
    try (ServerSocket server = own.serverSocket(null)) {
      server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      Thread.startVirtualThread(() -> answer(server));
      WorkerSpec named = WorkerSpec.of("https://localhost:" + server.getLocalPort());
      WorkerSpec address = WorkerSpec.of("https://127.0.0.1:" + server.getLocalPort());

      assertThat(talk(tls(trusting, provider), named, server)).isEqualTo('!');
      assertThat(talk(new EngineTls(EngineTlsSettings.DEFAULTS, file, provider), named, server))
          .isEqualTo('!');
      EngineTlsSettings foreign =
          new EngineTlsSettings(other.certificate().toString(), "", "", "", false);
      for (EngineTls refusing :
          List.of(tls(EngineTlsSettings.DEFAULTS, provider), tls(foreign, provider))) {
        assertThatThrownBy(() -> talk(refusing, named, server))
            .isInstanceOf(SSLException.class)
            .hasRootCauseInstanceOf(CertPathBuilderException.class);
      }
      assertThatThrownBy(() -> talk(tls(trusting, provider), address, server))
          .isInstanceOf(SSLException.class)
          .hasRootCauseInstanceOf(CertificateException.class);
      WorkerSpec labelled = address.withLabels(Map.of("tls-server-name", "localhost"));
      assertThat(talk(tls(trusting, provider), labelled, server)).isEqualTo('!');
      WorkerSpec careless = address.withLabels(Map.of("tls-insecure-skip-verify", "true"));
      assertThat(talk(tls(foreign, provider), careless, server)).isEqualTo('!');
    }
  }

  @ParameterizedTest
  @EnumSource
  void enginesGetTheCertificateOfTheRouter(TlsProvider provider) throws Exception {
    TestCertificate own = TestCertificate.make(directory, "asks" + provider, "dns:localhost");
    TestCertificate router =
        TestCertificate.make(directory, "router" + provider, "dns:r", KeyKind.RSA);
    String ca = own.certificate().toString();
    EngineTlsSettings without = new EngineTlsSettings(ca, "", "", "", false);
    EngineTlsSettings with =
        new EngineTlsSettings(
            ca, router.certificate().toString(), router.key().toString(), "", false);
    try (ServerSocket server = own.serverSocket(router)) {
      server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      Thread.startVirtualThread(() -> answer(server));
      WorkerSpec worker = WorkerSpec.of("https://localhost:" + server.getLocalPort());
      assertThat(talk(tls(with, provider), worker, server)).isEqualTo('!');
      assertThat(talk(tls(without, provider), worker, server)).isEqualTo(-1);
    }
  }

  /** BoringSSL does not accept such certificates, so the JDK makes these connections. */
  @Test
  void enginesWithCertificatesOfRareKindsAreReached() throws Exception {
    TestCertificate own = TestCertificate.make(directory, "rare", "dns:localhost", KeyKind.ED25519);
    EngineTlsSettings trusting =
        new EngineTlsSettings(own.certificate().toString(), "", "", "", false);
    try (ServerSocket server = own.serverSocket(null)) {
      server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      Thread.startVirtualThread(() -> answer(server));
      WorkerSpec worker = WorkerSpec.of("https://localhost:" + server.getLocalPort());
      assertThat(talk(tls(trusting, TlsProvider.AUTO), worker, server)).isEqualTo('!');
    }
  }

  @Test
  void labelsReplaceSingleValues() {
    EngineTlsSettings all = new EngineTlsSettings("ca", "cert", "key", "name", false);
    assertThat(all.with(Map.of("zone", "z"))).isSameAs(all);
    assertThat(all.with(Map.of("tls-ca-file", "x")))
        .isEqualTo(new EngineTlsSettings("x", "cert", "key", "name", false));
    assertThat(all.with(Map.of("tls-certificate-file", "x", "tls-insecure-skip-verify", "true")))
        .isEqualTo(new EngineTlsSettings("ca", "x", "", "name", true));
    assertThatThrownBy(() -> all.with(Map.of("tls-insecure-skip-verify", "yes")))
        .hasMessage("tls-insecure-skip-verify: yes (expected: true or false)");
    assertThatThrownBy(() -> all.with(Map.of("tls-server-name", "a:1")))
        .hasMessageContaining("serverName: a:1");
  }

  @Test
  void aKeyWithoutACertificateIsRefused() {
    assertThatThrownBy(() -> new EngineTlsSettings("", "", "key", "", false))
        .hasMessageContaining("keyFile: set without certificateFile");
  }

  @ParameterizedTest
  @EnumSource
  void laterConnectionsUseAChangeUntilItIsUndone(TlsProvider provider) throws Exception {
    TestCertificate own = TestCertificate.make(directory, "chg" + provider, "dns:localhost");
    TestCertificate other = TestCertificate.make(directory, "oth" + provider, "dns:localhost");
    EngineTlsSettings trusting =
        new EngineTlsSettings(own.certificate().toString(), "", "", "", false);
    EngineTlsSettings foreign =
        new EngineTlsSettings(other.certificate().toString(), "", "", "", false);
    try (ServerSocket server = own.serverSocket(null);
        EngineTls tls = tls(foreign, provider)) {
      server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      Thread.startVirtualThread(() -> answer(server));
      WorkerSpec worker = WorkerSpec.of("https://localhost:" + server.getLocalPort());
      assertThatThrownBy(() -> talkOn(tls, worker, server)).isInstanceOf(SSLException.class);

      EngineTls.Change first = tls.prepared(trusting, List.of(worker), provider);
      assertThatThrownBy(() -> talkOn(tls, worker, server)).isInstanceOf(SSLException.class);
      first.apply();
      assertThat(talkOn(tls, worker, server)).isEqualTo('!');
      first.undo();
      assertThatThrownBy(() -> talkOn(tls, worker, server)).isInstanceOf(SSLException.class);

      EngineTls.Change second = tls.prepared(trusting, List.of(worker), provider);
      second.apply();
      second.finish();
      assertThat(talkOn(tls, worker, server)).isEqualTo('!');
      assertThat(shake(tls, server, "localhost")).startsWith("TLS");
      EngineTls.Change same = tls.prepared(trusting, List.of(worker), provider);
      same.undo();
      assertThat(talkOn(tls, worker, server)).isEqualTo('!');
    }
  }

  /**
   * An engine, and a router that trusts the certificate in a file.
   *
   * @param file has the certificate of the engine at first
   */
  private record Watched(
      TlsProvider provider,
      ServerSocket server,
      WorkerSpec worker,
      Path file,
      EngineTlsSettings settings,
      EngineTls tls)
      implements AutoCloseable {
    /**
     * @param name distinguishes the files from those of other tests
     */
    static Watched start(String name, TlsProvider provider) throws Exception {
      TestCertificate own = TestCertificate.make(directory, name + provider, "dns:localhost");
      Path file = Files.copy(own.certificate(), directory.resolve(name + "-file" + provider));
      ServerSocket server = own.serverSocket(null);
      server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      Thread.startVirtualThread(() -> answer(server));
      WorkerSpec worker = WorkerSpec.of("https://localhost:" + server.getLocalPort());
      EngineTlsSettings settings = new EngineTlsSettings(file.toString(), "", "", "", false);
      return new Watched(
          provider, server, worker, file, settings, EngineTlsTest.tls(settings, provider));
    }

    EngineTls.Change prepared() {
      return tls.prepared(settings, List.of(worker), provider);
    }

    /** Puts the certificate of another engine into the file. */
    void change() throws Exception {
      TestCertificate other =
          TestCertificate.make(directory, file.getFileName() + "-other", "dns:localhost");
      Files.copy(other.certificate(), file, StandardCopyOption.REPLACE_EXISTING);
    }

    void talks() throws Exception {
      assertThat(talkOn(tls, worker, server)).isEqualTo('!');
    }

    void refuses() {
      assertThatThrownBy(() -> talkOn(tls, worker, server)).isInstanceOf(SSLException.class);
    }

    @Override
    public void close() throws IOException {
      tls.close();
      server.close();
    }
  }

  @ParameterizedTest
  @EnumSource
  void filesThatChangeDuringAChangeAreReadAfterIt(TlsProvider provider) throws Exception {
    try (Watched watched = Watched.start("during", provider)) {
      watched.talks();
      EngineTls.Change change = watched.prepared();
      watched.change();
      watched.tls.refresh();
      change.apply();
      watched.talks();
      change.finish();
      watched.talks();

      watched.tls.refresh();
      watched.refuses();
    }
  }

  @ParameterizedTest
  @EnumSource
  void changedFilesAreUsedIfTheyCanBe(TlsProvider provider) throws Exception {
    try (Watched watched = Watched.start("changed", provider)) {
      watched.tls.follow(List.of(watched.worker));
      watched.talks();

      Files.writeString(watched.file, "half");
      watched.tls.refresh();
      watched.talks();
      assertThatThrownBy(watched::prepared)
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("engine-tls.ca-file: " + watched.file);
      watched.talks();

      watched.change();
      watched.tls.refresh();
      watched.refuses();
    }
  }

  @Test
  void anotherProviderMakesLaterConnections() throws Exception {
    try (Watched watched = Watched.start("provider", TlsProvider.JDK)) {
      watched.tls.follow(List.of(watched.worker));
      assertThat(engine(watched)).isNotInstanceOf(ReferenceCountedOpenSslEngine.class);
      EngineTls.Change change =
          watched.tls.prepared(watched.settings, List.of(watched.worker), TlsProvider.OPENSSL);
      change.apply();
      change.finish();
      assertThat(engine(watched)).isInstanceOf(ReferenceCountedOpenSslEngine.class);
      watched.talks();
    }
  }

  private static SSLEngine engine(Watched watched) {
    SslHandler handler =
        watched.tls.handler(
            watched.worker, "localhost", watched.server.getLocalPort(), ByteBufAllocator.DEFAULT);
    SSLEngine engine = handler.engine();
    ReferenceCountUtil.release(engine);
    return engine;
  }
}
