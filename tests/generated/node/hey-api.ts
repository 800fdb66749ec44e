// A typed script with the client of @hey-api/openapi-ts. Usage: node hey-api.js URL EMAIL PASSWORD
import { client } from "./hey/client.gen.ts";
import { runEditorCommand, signIn, commitFiles, getProjectTree, listUserProjects } from "./hey/index.ts";

const [baseUrl = "", email = "", password = ""] = process.argv.slice(2);
client.setConfig({ baseUrl });
client.interceptors.response.use((response) => {
  const cookie = response.headers.getSetCookie()[0]?.split(";")[0];
  if (cookie) client.setConfig({ headers: { Cookie: cookie } });
  return response;
});

const signedIn = await signIn({ body: { email, password } });
if (signedIn.error) throw new Error(signedIn.error.code);
const { user } = signedIn.data;
if (!user) throw new Error("The account has a second factor");
console.log("User:", user.name);

const projects = await listUserProjects({ path: { userId: user.id } });
const project = projects.data?.result[0];
if (!project) throw new Error("no project");
const path = { project_id: project.project_id };

const read = await getProjectTree({ path });
const tree = read.data?.result;
if (!tree?.commit_sha) throw new Error(read.error?.code ?? tree?.status);
console.log("Tree:", tree.branch, tree.files.some((file) => file.path === "content/about.md"));

const save = (base_sha: string, content: string) =>
  commitFiles({
    path,
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

const { stream } = await runEditorCommand({ body: { prompt: "Write a greeting", projectId: project.project_id } });
let text = "";
for await (const part of stream) {
  if (typeof part === "object" && part.type === "text-delta") text += part.delta;
}
console.log("Stream:", text);
