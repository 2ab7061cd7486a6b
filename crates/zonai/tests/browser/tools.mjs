// What the scripts share: packages from the folder in MODULES, a headless Chromium, pages of another origin.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// Nothing here takes long; a script that hangs fails.
setTimeout(() => {
  console.error("not done within 90 s");
  process.exit(2);
}, 90_000).unref();

/** A package that `npm ci` put into the folder in MODULES. */
export async function load(name) {
  const from = createRequire(pathToFileURL(join(process.env.MODULES, "package.json")));
  return import(pathToFileURL(from.resolve(name)));
}

/** Runs `work` with a fresh Chromium at a page, and leaves nothing behind. */
export async function withPage(url, work) {
  const { chromium } = (await load("playwright-core")).default;
  const folder = await mkdtemp(join(tmpdir(), "zonai-chromium-"));
  const context = await chromium.launchPersistentContext(folder, {
    executablePath: process.env.CHROMIUM,
    headless: true,
    viewport: { width: 900, height: 640 },
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
      "--disable-background-networking", "--disable-component-update", "--disable-sync",
    ],
  });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(20_000);
    page.on("console", (message) => console.error(`in the page: ${message.text()}`));
    page.on("pageerror", (error) => console.error(`in the page: ${error}`));
    await page.goto(url);
    return await work(page);
  } catch (error) {
    const shown = await context.pages().at(-1).evaluate(() => document.body?.innerText).catch(String);
    console.error(`the page showed:\n${shown}`);
    throw error;
  } finally {
    await context.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Serves one page, as any static server would, on a port of its own: to Zonai it is another origin. */
export async function serve(file) {
  const html = file === undefined ? "<!doctype html><title>Elsewhere</title>" : await readFile(file);
  const server = createServer((request, response) => {
    response.setHeader("content-type", "text/html; charset=utf-8");
    response.end(html);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${server.address().port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** A call from outside of the browser; the same client to the limiter. */
export async function call(method, url, payload, token) {
  const headers = { "content-type": "application/json" };
  if (token) headers.authorization = `Bearer ${token}`;
  const get = method === "GET";
  const to = get ? `${url}?body=${encodeURIComponent(JSON.stringify(payload))}` : url;
  const response = await fetch(to, { method, headers, body: get ? undefined : JSON.stringify(payload) });
  const text = await response.text();
  return { status: response.status, body: text === "" ? null : JSON.parse(text) };
}
