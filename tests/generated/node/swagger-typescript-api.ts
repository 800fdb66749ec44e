// A typed script with the client of swagger-typescript-api. Usage: node swagger-typescript-api.js URL EMAIL PASSWORD
import { Api } from "./sta/api.ts";

const [baseUrl = "", email = "", password = ""] = process.argv.slice(2);
const signedIn = await new Api({ baseUrl }).api.signIn({ email, password });
const headers = { Cookie: signedIn.headers.getSetCookie()[0]?.split(";")[0] ?? "" };
const { api } = new Api({ baseUrl, baseApiParams: { headers } });
const { user } = signedIn.data;
if (!user) throw new Error("The account has a second factor");
console.log("User:", user.name);

const projects = await api.listUserProjects(user.id);
const projectId = projects.data.result[0]?.project_id ?? "";
const tree = await api.getProjectTree(projectId);
const { branch, commit_sha, files } = tree.data.result;
console.log("Tree:", branch, files.some((file) => file.path === "content/about.md"));

const save = (content: string) =>
  api.commitFiles(
    projectId,
    { message: "Edit", base_sha: commit_sha ?? "", files: [{ path: "content/about.md", action: "update", content }] },
  );
const saved = await save(`# About ${Date.now()}\n`);
console.log("Saved:", saved.data.result.files[0]?.path);
const refused = await save(`# Other ${Date.now()}\n`).catch((response) => response);
console.log("Conflict:", refused.status, refused.error.code);
