// Server-sent events of a response.

/** Yield the JSON values of the events. */
export async function* events<Value>(response: Response): AsyncGenerator<Value> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let remaining = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (remaining + value).split(/\r?\n\r?\n/);
    remaining = blocks.pop()!;
    for (const block of blocks) {
      const data = block.split(/\r?\n/).filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart()).join("\n");
      if (data && data !== "[DONE]") yield JSON.parse(data) as Value;
    }
  }
}
