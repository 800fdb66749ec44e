// Build of the console's assets. Usage: node build.mjs OUTPUT_FOLDER
// Writes hashed files with their compressed forms, `manifest.json` (asset name to file name) and `licenses.txt` of the
// bundled packages.
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const output = path.resolve(process.argv[2] ?? path.join(here, "..", "static"));

const MIN_COMPRESSED_BYTES = 1024;

await mkdir(output, { recursive: true });
const { metafile } = await build({
  absWorkingDir: here,
  entryPoints: { console: "src/console.ts" },
  outdir: output,
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  bundle: true,
  splitting: true,
  minify: true,
  format: "esm",
  target: ["chrome120", "firefox120", "safari17"],
  metafile: true,
  // markdown-it only decodes entities. The table for encoding would be loaded, too.
  alias: { entities: "entities/lib/decode.js" },
  legalComments: "none",
  logLevel: "warning",
});
const styles = await build({
  absWorkingDir: here,
  entryPoints: { console: "styles/console.css" },
  outdir: output,
  entryNames: "[name]-[hash]",
  bundle: true,
  minify: true,
  target: ["chrome123", "firefox120", "safari17.5"],
  metafile: true,
  logLevel: "warning",
});

// Classic scripts in the pages of sites, because a page can have other rules for modules.
const pageScripts = await build({
  absWorkingDir: here,
  entryPoints: { "guest-frame": "src/guest-frame.ts", "page-marks": "src/page-marks.ts" },
  outdir: output,
  entryNames: "[name]-[hash]",
  bundle: true,
  minify: true,
  format: "iife",
  target: ["chrome120", "firefox120", "safari17"],
  metafile: true,
  logLevel: "warning",
});

const manifest = {};
for (const outputs of [metafile.outputs, styles.metafile.outputs, pageScripts.metafile.outputs]) {
  for (const [file, { entryPoint }] of Object.entries(outputs)) {
    if (!/^(src|styles)\/(console|guest-frame|page-marks)\./.test(entryPoint ?? "")) continue;
    manifest[path.parse(entryPoint).name + path.extname(file)] = path.basename(file);
  }
}
manifest["icons.svg"] = await writeHashed("icons.svg", await sprite());
manifest["icon.svg"] = await writeHashed("icon.svg", await readFile(path.join(here, "icon.svg"), "utf8"));
await writeFile(path.join(output, "chunks.json"), JSON.stringify(chunks(metafile.outputs), null, 1) + "\n");
await writeFile(path.join(output, "licenses.txt"), await licenses(metafile));
await compress();
await writeFile(path.join(output, "manifest.json"), JSON.stringify(manifest, null, 1) + "\n");

/** Write the compressed forms of scripts, styles and icons. A small file is sent as it is. */
async function compress() {
  const names = (await readdir(output)).filter((name) => /\.(js|css|svg)$/.test(name));
  for (const name of names) {
    const content = await readFile(path.join(output, name));
    if (content.length < MIN_COMPRESSED_BYTES) continue;
    await writeFile(path.join(output, `${name}.br`), brotliCompressSync(content));
    await writeFile(path.join(output, `${name}.gz`), gzipSync(content, { level: 9 }));
  }
}

/** Return the files that a page loads first, and the further files of each lazily loaded module. */
function chunks(outputs) {
  const files = (file, known) => {
    if (known.has(file)) return known;
    known.add(file);
    for (const { path: next, kind } of outputs[file].imports) if (kind !== "dynamic-import") files(next, known);
    return known;
  };
  const entries = Object.entries(outputs).filter(([, { entryPoint }]) => entryPoint);
  const [first] = entries.find(([, { entryPoint }]) => entryPoint === "src/console.ts");
  const loaded = files(first, new Set());
  const lists = entries.map(([file, { entryPoint }]) => {
    const own = [...files(file, new Set())].filter((each) => file === first || !loaded.has(each));
    const name = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(entryPoint)?.[1] ?? path.parse(entryPoint).name;
    return [name, own.map((each) => path.basename(each))];
  });
  return Object.fromEntries(lists);
}

/** Return the icons of `icons.json` as one SVG with a symbol for each. `a=b` publishes the Lucide icon b as a. */
async function sprite() {
  const names = JSON.parse(await readFile(path.join(here, "icons.json"), "utf8"));
  const symbols = await Promise.all(
    names.map(async (entry) => {
      const [name, source = name] = entry.split("=");
      const svg = await readFile(path.join(here, "node_modules/lucide-static/icons", `${source}.svg`), "utf8");
      const shapes = svg.replace(/<!--.*?-->/gs, "").replace(/^\s*<svg[^>]*>|<\/svg>\s*$/gs, "").replace(/\s+/g, " ").trim();
      return `<symbol id="${name}" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">${shapes}</symbol>`;
    }),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg">${symbols.join("")}</svg>\n`;
}

/** Write a file whose name contains the hash of its content, and return the name. */
async function writeHashed(name, content) {
  const { name: stem, ext } = path.parse(name);
  const hashed = `${stem}-${createHash("sha256").update(content).digest("hex").slice(0, 8).toUpperCase()}${ext}`;
  await writeFile(path.join(output, hashed), content);
  return hashed;
}

/** Return the license texts of all packages in the bundle, and of the icons. */
async function licenses({ inputs }) {
  const packages = new Set(["lucide-static"]);
  for (const input of Object.keys(inputs)) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match) packages.add(match[1]);
  }
  const texts = [...packages].sort().map(async (name) => {
    const folder = path.join(here, "node_modules", name);
    const file = (await readdir(folder)).find((each) => /^licen[cs]e/i.test(each));
    const { version, license } = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
    return `${name} ${version} (${license})\n\n${file ? await readFile(path.join(folder, file), "utf8") : ""}`;
  });
  return (await Promise.all(texts)).join("\n\n----\n\n");
}
