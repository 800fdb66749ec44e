// better-auth's own server on Hono and PostgreSQL: node server.mjs <database URL>; prints its port.
import { serve } from "@hono/node-server";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { Hono } from "hono";
import pg from "pg";

const options = {
  baseURL: "http://127.0.0.1",
  secret: "only-for-this-benchmark-on-loopback-0123456789",
  database: new pg.Pool({ connectionString: process.argv[2] }),
  emailAndPassword: { enabled: true },
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  trustedOrigins: ["*"],
};
await (await getMigrations(options)).runMigrations();
const auth = betterAuth(options);
const app = new Hono();
app.on(["GET", "POST"], "/api/auth/*", (context) => auth.handler(context.req.raw));
serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, ({ port }) => console.log(port));
