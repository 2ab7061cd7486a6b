// The page of examples/shop: it shows the rows, follows changes, counts down when refused and comes back by itself.
// Arguments: the address of Zonai, the page's file, the window of `list` in seconds.
import assert from "node:assert/strict";
import { call, serve, withPage } from "./tools.mjs";

const [api, file, windowSeconds] = process.argv.slice(2);
const account = { email: "ann@example.org", password: "correct horse battery" };
const { body } = await call("POST", `${api}/auth/sign-up`, account);
const { accessToken, user } = body.data;

async function offer(name, stock) {
  const object = { seller: user.id, name, cents: 450, stock };
  const created = await call("POST", `${api}/db`, { table: "items", object }, accessToken);
  assert.equal(created.status, 200, JSON.stringify(created.body));
}

const state = (page, name) => page.waitForSelector(`body[data-state="${name}"]`, { timeout: 10_000 });
const names = (page) => page.locator("#items th").allTextContents();

/** Uses the window up from outside, then has the page open its stream anew. How long it is told to wait, 0 if it was served. */
async function refuse(page) {
  const list = () => call("GET", `${api}/db/list`, { table: "items", limit: 1 });
  while ((await list()).status !== 429);
  await page.click("#again");
  await page.waitForFunction(() => ["refused", "live"].includes(document.body.dataset.state));
  if ((await page.getAttribute("body", "data-state")) === "live") return 0;
  return Number.parseInt(/in (\d+)/.exec(await page.textContent("#said"))[1], 10);
}

await offer("Green tea", 12);
await offer("Black tea", 0);
const site = await serve(file);
try {
  await withPage(`${site.origin}/?api=${api}`, async (page) => {
    await state(page, "live");
    assert.deepEqual(await names(page), ["Black tea", "Green tea"]);
    assert.equal(await page.textContent("#total"), "2 items");

    // A row that is made elsewhere.
    await offer("Camomile <b>tea</b>", 3);
    await page.waitForSelector("#items tr:nth-child(3)", { timeout: 2_000 });
    assert.deepEqual(await names(page), ["Black tea", "Camomile <b>tea</b>", "Green tea"]);
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/live.png` });

    // Late in a window, or past it: then once more, in the window that the page opens. Two seconds or more, so that a
    // page that comes back on a schedule of its own is seen.
    let told = await refuse(page);
    for (let tries = 1; tries < 5 && told < 2; tries++) {
      await state(page, "live");
      told = await refuse(page);
    }
    assert.ok(told >= 2 && told <= Number(windowSeconds), `told to wait ${told} s`);
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    const left = await page.textContent("#left");
    assert.match(left, /^[1-9]\d* seconds?$/);
    assert.ok(Number.parseInt(left, 10) <= told, left);
    assert.equal(await page.isVisible("#notice"), true);
    assert.match(await page.textContent("#said"), /Too many requests from your address\. Next try in \d+ second/);
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/refused.png` });

    // By itself, after one wait and with one request.
    await state(page, "live");
    assert.equal(asked.length, 1, asked.join("\n"));
    assert.equal(await page.isVisible("#notice"), false);
    await offer("Rooibos", 7);
    await page.waitForSelector("#items tr:nth-child(4)", { timeout: 2_000 });
  });
} finally {
  site.close();
}
console.log("ok");
