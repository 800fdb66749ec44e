// Configuration of @hey-api/openapi-ts: relative imports have an extension, so that Node can load the compiled files.
export default {
  input: "openapi.json",
  output: { path: "hey", module: { extension: ".ts" } },
  plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"],
};
