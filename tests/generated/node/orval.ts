// A typed script with the functions of orval. Usage: node orval.js URL EMAIL PASSWORD
import { signIn, commitFiles, getProjectTree, listUserProjects } from "./orval.gen.ts";

const [, email = "", password = ""] = process.argv.slice(2);
const signedIn = await signIn({ email, password });
if (signedIn.status !== 200) throw new Error(signedIn.data.code);
const options = { headers: { Cookie: signedIn.headers.getSetCookie()[0]?.split(";")[0] ?? "" } };
const { user } = signedIn.data;
if (!user) throw new Error("The account has a second factor");
console.log("User:", user.name);

const projects = await listUserProjects(user.id, undefined, options);
if (projects.status !== 200) throw new Error("no projects");
const id = projects.data.result[0]?.project_id ?? "";
const tree = await getProjectTree(id, undefined, options);
if (tree.status !== 200) throw new Error("no tree");
const { branch, commit_sha, files } = tree.data.result;
console.log("Tree:", branch, files.some((file) => file.path === "content/about.md"));

const save = (content: string) =>
  commitFiles(
    id,
    { message: "Edit", base_sha: commit_sha ?? "", files: [{ path: "content/about.md", action: "update", content }] },
    options,
  );
const saved = await save(`# About ${Date.now()}\n`);
if (saved.status !== 200 && saved.status !== 201) throw new Error(saved.data.code);
console.log("Saved:", saved.data.result.files[0]?.path);
const refused = await save(`# Other ${Date.now()}\n`);
if (refused.status !== 409) throw new Error("no conflict");
console.log("Conflict:", refused.status, refused.data.code);
