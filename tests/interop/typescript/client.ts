// Log in and call all six actions with openapi-fetch and the types that openapi-typescript generated from the document.
// The types are half of the test: tsc rejects this file if the document declares a path, body or response wrongly.
import createClient from "openapi-fetch";
import type { components, paths } from "./generated.js";

type Schemas = components["schemas"];
type Body = Exclude<paths["/api/"]["post"]["requestBody"], undefined>["content"]["application/json"];
type Action = Body["action"];

declare const process: { argv: string[]; exit(code: number): never };

const base = process.argv[2];
const cookies = new Map<string, string>();
const client = createClient<paths>({ baseUrl: base });
client.use({
  onRequest({ request }) {
    request.headers.set("Cookie", [...cookies].map(([name, value]) => `${name}=${value}`).join("; "));
    request.headers.set("X-CSRFToken", cookies.get("csrftoken") ?? "");
    return request;
  },
  onResponse({ response }) {
    for (const line of response.headers.getSetCookie()) {
      const [name, value] = line.split(";")[0].split("=", 2);
      cookies.set(name, value);
    }
    return response;
  },
});

function check(holds: unknown, step: string, result: unknown): asserts holds {
  if (!holds) {
    console.error(`generated TypeScript client: ${step}:`, result);
    process.exit(1);
  }
}

function logIn(region: string, password: string) {
  return client.POST("/auth/login/", {
    body: { csrfmiddlewaretoken: cookies.get("csrftoken") ?? "", username: "demo", password, region },
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
  });
}

async function call<Name extends Action>(body: Schemas[`${Name}Body`] & { action: Name }) {
  const result = await client.POST("/api/", { body });
  check(result.data, body.action, result.error);
  // The document declares the union of all responses; each body names its own as `x-response`.
  return (result.data as Schemas[`${Name}Answer`]).data as Schemas[`${Name}Answer`]["data"];
}

const welcome = await client.GET("/api/");
check(welcome.data, "GET /api/", welcome.error);
const region = welcome.data.data.regions[0];
const rejected = await logIn(region, "wrong");
check(rejected.error?.error === "invalid_credentials", "wrong password", rejected.error);
const accepted = await logIn(region, "console-demo");
check(accepted.response.status === 200, "login", accepted.error);

const usage = await call({ action: "GetUsageLimits" });
check(usage.maxTotalInstances > 0, "GetUsageLimits", usage);
const flavors = await call({ action: "GetFlavors" });
check(flavors.flavors[0].vcpus > 0 && flavors.limits["1"].length > 0, "GetFlavors", flavors);
const urls = await call({ action: "GetUrlList" });
check(urls[0].id.startsWith("url-"), "GetUrlList", urls);
const domain = await call({ action: "GetDomainDetail", domainId: "206814" });
check(domain.enabled === "false" && domain.cacheBehaviors.length === 2, "GetDomainDetail", domain);
const news = await call({ action: "GetNews" });
check(news[0].title, "GetNews", news);
const costs = await call({ action: "GetConsumptionsEstimated" });
check(costs[0].res_type === "instance" && costs[0].hour.includes("."), "GetConsumptionsEstimated", costs);

const unknown = await client.POST("/api/", { body: { action: "GetDomainDetail", domainId: "0" } });
check(unknown.error?.field === "domainId", "unknown domain", unknown.error);
const left = await client.POST("/auth/logout/");
check(left.response.status === 200, "logout", left.error);
console.log("generated TypeScript client: logged in and called 6 actions");
