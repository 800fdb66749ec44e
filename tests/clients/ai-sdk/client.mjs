// What a web application does with the AI handlers: the AI SDK's transport and message reader, and Plate's completion
// call. Reads a scenario as JSON from each line of the input and prints a line of JSON with the result.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const require = createRequire(process.cwd() + "/");
const { DefaultChatTransport, readUIMessageStream } = await import(pathToFileURL(require.resolve("ai")).href);

const headersOf = (scenario) => ({ cookie: scenario.cookie, ...scenario.headers });

async function chat(scenario) {
  const transport = new DefaultChatTransport({ api: scenario.api, headers: headersOf(scenario), body: scenario.body });
  const message = { id: "m1", role: "user", parts: [{ type: "text", text: scenario.text ?? "Hello" }] };
  const control = new AbortController();
  const seen = { deltas: 0, errors: [], message: null };
  const stream = await transport.sendMessages({
    chatId: "c1",
    trigger: "submit-message",
    messageId: undefined,
    messages: [message],
    abortSignal: control.signal,
  });
  const counted = stream.pipeThrough(
    new TransformStream({
      transform(chunk, out) {
        if (chunk.type === "text-delta" && ++seen.deltas === scenario.abortAfter) control.abort();
        out.enqueue(chunk);
      },
    }),
  );
  try {
    for await (const state of readUIMessageStream({ stream: counted, onError: (error) => seen.errors.push(String(error)) }))
      seen.message = state;
  } catch (error) {
    seen.errors.push(String(error));
  }
  return seen;
}

async function resume(scenario) {
  const transport = new DefaultChatTransport({ api: scenario.api, headers: headersOf(scenario) });
  return { stream: await transport.reconnectToStream({ chatId: scenario.chat }) };
}

async function completion(scenario) {
  const answer = await fetch(scenario.api, {
    method: "POST",
    credentials: "include",
    headers: { "Content-Type": "application/json", ...headersOf(scenario) },
    body: JSON.stringify({ prompt: scenario.text, ...scenario.body }),
  });
  if (!answer.ok) return { status: answer.status, error: (await answer.json()).error };
  const { text } = await answer.json();
  return { status: answer.status, text };
}

for await (const line of createInterface({ input: process.stdin })) {
  const scenario = JSON.parse(line);
  const outcome = await { chat, completion, resume }[scenario.do](scenario).catch((error) => ({ failed: String(error) }));
  console.log(JSON.stringify(outcome));
}
