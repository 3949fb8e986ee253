import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import java.util.concurrent.Phaser;

/**
 * Serves one function over HTTP. It is compiled with the source.
 *
 * <p>FUNCTION_HANDLER names a class that implements HttpHandler of the JDK, or, after a dot, a public static method of it
 * that takes an HttpExchange. A timer is a POST with `x-function-event: timer` and a body {"trigger", "scheduledAt"}.
 */
public final class FreeholdServer {
  private static final byte[] FAILED =
      "{\"error\":\"The function failed.\",\"code\":\"FUNCTION_FAILED\"}".getBytes(StandardCharsets.UTF_8);

  public static void main(String[] words) throws IOException {
    HttpHandler call = load(orElse(System.getenv("FUNCTION_HANDLER"), "Handler"));
    int port = Integer.parseInt(orElse(System.getenv("PORT"), "8080"));
    HttpServer server = HttpServer.create(new InetSocketAddress(port), 128);
    Phaser underWay = new Phaser(1);
    server.createContext("/", exchange -> answer(call, exchange, underWay));
    server.setExecutor(Executors.newCachedThreadPool());
    // Calls that are under way end first.
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      underWay.arriveAndAwaitAdvance();
      server.stop(0);
    }));
    server.start();
    System.err.println("The function serves on port " + server.getAddress().getPort() + ".");
  }

  private static HttpHandler load(String handler) {
    String name = handler.replaceFirst("^src/main/java/", "").replaceFirst("\\.java$", "").replace('/', '.');
    int dot = name.lastIndexOf('.');
    try {
      Class<?> whole = find(name);
      if (whole != null && HttpHandler.class.isAssignableFrom(whole))
        return (HttpHandler) whole.getDeclaredConstructor().newInstance();
      Class<?> around = dot < 1 ? null : find(name.substring(0, dot));
      if (around == null) throw new NoSuchMethodException(name);
      MethodType type = MethodType.methodType(void.class, HttpExchange.class);
      var method = MethodHandles.publicLookup().findStatic(around, name.substring(dot + 1), type);
      return exchange -> {
        try {
          method.invoke(exchange);
        } catch (IOException | RuntimeException | Error failure) {
          throw failure;
        } catch (Throwable failure) {
          throw new IllegalStateException(failure);
        }
      };
    } catch (ReflectiveOperationException failure) {
      System.err.println("The source has no handler \"" + handler
          + "\": a public class that implements HttpHandler, or a public static void method of one that takes an HttpExchange ("
          + failure + ").");
      System.exit(1);
      throw new IllegalStateException(failure);
    }
  }

  private static Class<?> find(String name) {
    try {
      return Class.forName(name);
    } catch (ClassNotFoundException | LinkageError absent) {
      return null;
    }
  }

  private static void answer(HttpHandler call, HttpExchange exchange, Phaser underWay) {
    underWay.register();
    try {
      call.handle(exchange);
      if (exchange.getResponseCode() < 0) exchange.sendResponseHeaders(204, -1);
    } catch (Throwable failure) {
      // For the log of the function; a caller learns nothing of its code.
      failure.printStackTrace();
      refuse(exchange);
    } finally {
      exchange.close();
      underWay.arriveAndDeregister();
    }
  }

  /** Nothing can be told any more once an answer has begun. */
  private static void refuse(HttpExchange exchange) {
    if (exchange.getResponseCode() >= 0) return;
    try {
      exchange.getResponseHeaders().clear();
      exchange.getResponseHeaders().set("content-type", "application/json");
      exchange.sendResponseHeaders(500, FAILED.length);
      exchange.getResponseBody().write(FAILED);
    } catch (IOException gone) {
      System.err.println(gone);
    }
  }

  private static String orElse(String value, String other) {
    return value == null || value.isEmpty() ? other : value;
  }
}
