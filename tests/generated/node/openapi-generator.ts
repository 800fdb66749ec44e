// A typed script with the client of openapi-generator (typescript-fetch). Usage: node openapi-generator.js URL EMAIL PASSWORD
import { AuthApi, Configuration, ProjectApi, ProjectContentApi, ResponseError } from "./oag/index.ts";

const [basePath = "", email = "", password = ""] = process.argv.slice(2);
const raw = await new AuthApi(new Configuration({ basePath })).signInRaw({ authSignInBody: { email, password } });
const headers = { Cookie: raw.raw.headers.getSetCookie()[0]?.split(";")[0] ?? "" };
const configuration = new Configuration({ basePath, headers });
const signedIn = await raw.value();
const { user } = signedIn;
if (!user) throw new Error("The account has a second factor");
console.log("User:", user.name);

const projects = await new ProjectApi(configuration).listUserProjects({ userId: user.id });
const projectId = projects.result[0]?.projectId ?? "";
const content = new ProjectContentApi(configuration);
const tree = await content.getProjectTree({ projectId });
const { branch, commitSha, files } = tree.result;
console.log("Tree:", branch, files.some((file) => file.path === "content/about.md"));

const save = (text: string) =>
  content.commitFiles({
    projectId,
    projectContentCommitFilesBody: {
      message: "Edit",
      baseSha: commitSha ?? "",
      files: [{ path: "content/about.md", action: "update", content: text }],
    },
  });
const saved = await save(`# About ${Date.now()}\n`);
console.log("Saved:", saved.result.files[0]?.path);
const refused = await save(`# Other ${Date.now()}\n`).catch((error: unknown) => error);
if (!(refused instanceof ResponseError)) throw new Error("no conflict");
console.log("Conflict:", refused.response.status, (await refused.response.json()).code);
