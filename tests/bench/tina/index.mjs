// Index a folder of Markdown files with TinaCMS and print the CPU seconds that the index took.
// Usage: node index.mjs FOLDER
import { buildSchema, createDatabaseInternal, FilesystemBridge } from "@tinacms/graphql";
import { MemoryLevel } from "memory-level";

const post = {
  name: "post",
  label: "Posts",
  path: "content",
  format: "md",
  match: { include: "**/*" },
  fields: [
    { type: "string", name: "title", label: "Title", isTitle: true, required: true },
    { type: "datetime", name: "date", label: "Date" },
    { type: "string", name: "tags", label: "Tags", list: true },
    { type: "rich-text", name: "body", label: "Body", isBody: true },
  ],
};
const built = await buildSchema({
  schema: { collections: [post] },
  build: { outputFolder: "", publicFolder: "" },
  media: { tina: { publicFolder: "", mediaRoot: "" } },
});
const database = createDatabaseInternal({
  bridge: new FilesystemBridge(process.argv[2]),
  level: new MemoryLevel({ valueEncoding: "json" }),
  tinaDirectory: "tina",
});
const before = process.cpuUsage();
await database.indexContent(built);
const { user, system } = process.cpuUsage(before);
const page = await database.query({ collection: "post", first: 10, filterChain: [] }, (path) => path);
if (page.edges.length !== 10) throw new Error("the files are not in the index");
console.log((user + system) / 1e6);
