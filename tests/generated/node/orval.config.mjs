// Configuration of orval: functions that use fetch, with the address of the document.
export default {
  galley: {
    input: { target: "openapi.json" },
    output: { target: "orval.gen.ts", client: "fetch", baseUrl: { getBaseUrlFromSpecification: true } },
  },
};
