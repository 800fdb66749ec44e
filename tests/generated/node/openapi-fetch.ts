// A typed script with the types of openapi-typescript. Usage: node openapi-fetch.js URL EMAIL PASSWORD
import createClient from "openapi-fetch";
import type { paths } from "./galley.ts";

type Part = paths["/api/ai/command"]["post"]["responses"]["200"]["content"]["text/event-stream"];

const [baseUrl = "", email = "", password = ""] = process.argv.slice(2);
let cookie = "";
const client = createClient<paths>({ baseUrl });
client.use({
  onRequest({ request }) {
    if (cookie) request.headers.set("Cookie", cookie);
  },
  onResponse({ response }) {
    cookie = response.headers.getSetCookie()[0]?.split(";")[0] ?? cookie;
  },
});

const signedIn = await client.POST("/api/v1/auth/sign-in/email", { body: { email, password } });
if (signedIn.error) throw new Error(signedIn.error.code);
const { user } = signedIn.data;
if (!user) throw new Error("The account has a second factor");
console.log("User:", user.name);

const projects = await client.GET("/api/v1/project/user/{userId}", { params: { path: { userId: user.id } } });
const project = projects.data?.result[0];
if (!project) throw new Error("no project");
const path = { project_id: project.project_id };

const read = await client.GET("/api/v1/project-content/{project_id}", { params: { path } });
const tree = read.data?.result;
if (!tree?.commit_sha) throw new Error(read.error?.code ?? tree?.status);
console.log("Tree:", tree.branch, tree.files.some((file) => file.path === "content/about.md"));

const save = (base_sha: string, content: string) =>
  client.POST("/api/v1/project-content/{project_id}/commit", {
    params: { path },
    body: { message: "Edit", base_sha, files: [{ path: "content/about.md", action: "update", content }] },
  });
const stamp = Date.now().toString();
const saved = await save(tree.commit_sha, `# About ${stamp}\n`);
if (saved.error) throw new Error(saved.error.code);
console.log("Saved:", saved.data.result.files[0]?.path);

const refused = await save(tree.commit_sha, `# Other ${stamp}\n`);
if (refused.error?.code !== "CONFLICT" || !refused.error.result?.head_sha) throw new Error("no conflict");
console.log("Conflict:", refused.response.status, refused.error.result.paths?.[0]);
const again = await save(refused.error.result.head_sha, `# Other ${stamp}\n`);
console.log("Resolved:", again.data?.result.files[0]?.path);

const stream = await client.POST("/api/ai/command", {
  body: { prompt: "Write a greeting", projectId: project.project_id },
  parseAs: "stream",
});
let text = "";
let rest = "";
for await (const piece of stream.data!.pipeThrough(new TextDecoderStream())) {
  const lines = (rest + piece).split("\n");
  rest = lines.pop()!;
  for (const line of lines) {
    if (!line.startsWith("data: ") || line === "data: [DONE]") continue;
    const part = JSON.parse(line.slice(6)) as Part;
    if (part.type === "text-delta") text += part.delta;
  }
}
console.log("Stream:", text);
