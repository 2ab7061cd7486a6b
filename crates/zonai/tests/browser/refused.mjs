// A script of another origin reads the status, the body and the four headers of a 429.
// Argument: the address of Zonai, which refuses the second `count` and every `delete` on `items`.
import assert from "node:assert/strict";
import { serve, withPage } from "./tools.mjs";

const [api] = process.argv.slice(2);
const site = await serve();
try {
  await withPage(site.origin, async (page) => {
    const ask = (method, url, payload) =>
      page.evaluate(
        async ({ method, url, payload }) => {
          const json = payload && { headers: { "content-type": "application/json" }, body: JSON.stringify(payload) };
          const response = await fetch(url, { method, ...json });
          const names = ["retry-after", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];
          const headers = names.map((name) => response.headers.get(name));
          return { status: response.status, headers, body: await response.json(), wall: Date.now() / 1000 };
        },
        { method, url, payload },
      );

    function check({ status, headers, body, wall }, operation, limit, window) {
      assert.equal(status, 429);
      const retryAfter = Number(headers[0]);
      assert.ok(Number.isInteger(retryAfter) && retryAfter >= 1 && retryAfter <= window, headers[0]);
      assert.deepEqual(headers.slice(1, 3), [String(limit), "0"]);
      const until = Number(headers[3]) - wall;
      assert.ok(until > 0 && until <= window + 1, `${headers[3]} at ${wall}`);
      assert.deepEqual(Object.entries(body), [
        ["error", "Rate limit exceeded"],
        ["collection", "items"],
        ["operation", operation],
        ["retryAfter", retryAfter],
      ]);
    }

    // A simple request.
    const count = `${api}/db/count?body=${encodeURIComponent('{"table":"items"}')}`;
    assert.equal((await ask("GET", count)).status, 200);
    check(await ask("GET", count), "count", 1, 3600);
    // One that the browser sends a preflight for.
    check(await ask("DELETE", `${api}/db`, { table: "items", where: {} }), "delete", 0, 3600);
  });
} finally {
  site.close();
}
console.log("ok");
