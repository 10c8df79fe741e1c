import java.net.CookieManager;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.stream.Collectors;

/** Opens a session, logs in and calls actions with java.net.http, which offers an HTTP/2 upgrade by default. */
public class JavaClient {
    private final String base;
    private final CookieManager jar = new CookieManager();
    private final HttpClient client =
            HttpClient.newBuilder().cookieHandler(jar).connectTimeout(Duration.ofSeconds(20)).build();

    private JavaClient(String base) {
        this.base = base;
    }

    public static void main(String[] arguments) throws Exception {
        new JavaClient(arguments[0]).run();
        System.out.println("Java " + Runtime.version() + ": all steps passed");
    }

    private void run() throws Exception {
        HttpResponse<String> welcome = send(to("/api/").GET());
        check(welcome, 200, "\"actions\"");

        String login = form(Map.of(
                "csrfmiddlewaretoken", token(),
                "username", "demo",
                "password", "console-demo",
                "region", base + "/v3"));
        HttpResponse<String> opened = send(to("/auth/login/")
                .header("Content-Type", "application/x-www-form-urlencoded")
                .POST(BodyPublishers.ofString(login)));
        check(opened, 200, "");

        // Repeated, since an upgrade offer handled wrongly would break the next request on the connection.
        for (int number = 0; number < 3; number++) {
            check(call("{\"action\": \"GetFlavors\"}"), 200, "\"flavors\"");
        }
        check(call("{\"action\": \"GetNews\", \"说明\": \"" + "长".repeat(5000) + "\"}"), 200, "\"data\"");
        check(call("{\"action\": \"GetDomainDetail\"}"), 400, "\"domainId\"");
        check(call("{\"action\": \"GetNews\", \"x\": \"" + "x".repeat(5_000_000) + "\"}"), 413, "body_too_large");
        check(call("{\"action\": \"GetFlavors\"}"), 200, "\"flavors\"");
    }

    private HttpResponse<String> call(String json) throws Exception {
        return send(to("/api/")
                .header("Content-Type", "application/json")
                .header("X-CSRFToken", token())
                .POST(BodyPublishers.ofString(json)));
    }

    private HttpRequest.Builder to(String path) {
        return HttpRequest.newBuilder(URI.create(base + path)).timeout(Duration.ofSeconds(20));
    }

    private HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
        return client.send(request.build(), BodyHandlers.ofString());
    }

    private String token() {
        return jar.getCookieStore().getCookies().stream()
                .filter(cookie -> cookie.getName().equals("csrftoken"))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no csrftoken cookie"))
                .getValue();
    }

    private static String form(Map<String, String> fields) {
        return fields.entrySet().stream()
                .map(field -> field.getKey() + "=" + URLEncoder.encode(field.getValue(), StandardCharsets.UTF_8))
                .collect(Collectors.joining("&"));
    }

    private static void check(HttpResponse<String> response, int status, String part) {
        if (response.statusCode() != status || !response.body().contains(part)) {
            throw new AssertionError(response + " with the body: " + response.body());
        }
    }
}
