// A client that honours Retry-After is served after one wait. Arguments: `got` or `ky`, the URL.
// Prints how often it tried again, and the answer.
import { load } from "./tools.mjs";

const [client, url] = process.argv.slice(2);
const { default: request } = await load(client);
let retries = 0;
if (client === "got") {
  const response = await request(url);
  console.log(response.retryCount, response.body);
} else {
  const text = await request(url, { hooks: { beforeRetry: [() => void retries++] } }).text();
  console.log(retries, text);
}
