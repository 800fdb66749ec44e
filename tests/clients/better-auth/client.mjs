// Walks through an account's life with better-auth's own client: node client.mjs <base URL> <mail folder>
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createAuthClient } from "better-auth/client";
import { emailOTPClient } from "better-auth/client/plugins";

const [base, mailFolder] = process.argv.slice(2);
const email = `client${Date.now()}@mail.example.org`;
const passwords = ["Quiet-Harbour-1", "Another-Harbour-2", "Third-Harbour-3"];

// A browser as far as cookies go.
function browser() {
  const jar = new Map();
  const customFetchImpl = async (url, options) => {
    const headers = new Headers(options?.headers);
    headers.set("cookie", [...jar].map(([name, value]) => `${name}=${value}`).join("; "));
    headers.set("origin", base);
    const response = await fetch(url, { ...options, headers, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = line.match(/^([^=]+)=([^;]*)/);
      if (value) jar.set(name, value);
      else jar.delete(name);
    }
    return response;
  };
  const client = createAuthClient({
    baseURL: `${base}/api/v1/auth`,
    fetchOptions: { customFetchImpl },
    plugins: [emailOTPClient()],
  });
  return { client, jar };
}

async function mailed(pattern, after = 0) {
  for (let tries = 0; tries < 200; tries++) {
    const found = [];
    for (const file of (await readdir(mailFolder)).filter((name) => name.endsWith(".eml")).sort()) {
      const text = (await readFile(join(mailFolder, file), "utf8")).replace(/=\r?\n/g, "").replace(/=3D/g, "=");
      if (text.includes(`To: ${email}`) && text.match(pattern)) found.push(text.match(pattern)[1]);
    }
    if (found.length > after) return found.at(-1);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`no mail matches ${pattern}`);
}

function good({ data, error }) {
  assert.equal(error, null);
  return data;
}

async function refused(call, status, code) {
  const { data, error } = await call;
  assert.equal(data, null);
  assert.equal(error.status, status);
  if (code) assert.equal(error.code, code);
  assert.ok(error.message);
}

const one = browser();
const auth = one.client;

// sign up, verify
const signedUp = good(await auth.signUp.email({ email, password: passwords[0], name: "Client" }));
assert.equal(signedUp.token, null);
assert.equal(signedUp.user.email, email);
assert.equal(signedUp.user.emailVerified, false);
await refused(auth.signIn.email({ email, password: passwords[0] }), 403, "EMAIL_NOT_VERIFIED");
const otp = await mailed(/^(\d{6})\r?$/m);
const wrong = String((Number(otp) + 1) % 1_000_000).padStart(6, "0");
await refused(auth.emailOtp.verifyEmail({ email, otp: wrong }), 400, "INVALID_OTP");
const verified = good(await auth.emailOtp.verifyEmail({ email, otp }));
assert.equal(verified.status, true);
assert.equal(verified.user.emailVerified, true);
good(await auth.emailOtp.sendVerificationOtp({ email, type: "email-verification" }));

// the session
const current = good(await auth.getSession());
assert.equal(current.user.email, email);
assert.equal(current.session.userId, current.user.id);
assert.ok(new Date(current.session.expiresAt) > new Date());
good(await auth.updateUser({ name: "Renamed" }));
assert.equal(good(await auth.getSession()).user.name, "Renamed");
assert.equal(good(await auth.listAccounts())[0].providerId, "credential");

// a second browser, ended from the first
const two = browser();
const signedIn = good(await two.client.signIn.email({ email, password: passwords[0], rememberMe: false }));
assert.equal(signedIn.redirect, false);
assert.equal(signedIn.user.id, current.user.id);
const sessions = good(await auth.listSessions());
assert.equal(sessions.length, 2);
const other = sessions.find((session) => session.id !== current.session.id);
good(await auth.revokeSession({ token: other.token }));
await refused(two.client.getSession(), 401);
await refused(two.client.signIn.email({ email, password: "Wrong-password-1" }), 401, "INVALID_EMAIL_OR_PASSWORD");

// passwords
const before = one.jar.get("session_token");
good(
  await auth.changePassword({ currentPassword: passwords[0], newPassword: passwords[1], revokeOtherSessions: true }),
);
assert.notEqual(one.jar.get("session_token"), before);
await refused(
  auth.changePassword({ currentPassword: passwords[0], newPassword: passwords[2] }),
  400,
  "INVALID_PASSWORD",
);
assert.equal(good(await auth.requestPasswordReset({ email, redirectTo: "/new-password" })).status, true);
const token = await mailed(/[?&]token=([\w-]+)/);
await refused(auth.resetPassword({ newPassword: passwords[2], token: "made-up" }), 400, "INVALID_TOKEN");
assert.equal(good(await auth.resetPassword({ newPassword: passwords[2], token })).status, true);
await refused(auth.getSession(), 401);
good(await auth.signIn.email({ email, password: passwords[2] }));
good(await auth.revokeOtherSessions());

// social login
for (const provider of ["github", "google"]) {
  const begun = good(await auth.signIn.social({ provider, callbackURL: "/", disableRedirect: true }));
  assert.equal(begun.redirect, true);
  assert.match(begun.url, /code_challenge_method=S256/);
}

// out
assert.equal(good(await auth.signOut()).success, true);
assert.equal(one.jar.has("session_token"), false);
await refused(auth.getSession(), 401);
console.log("better-auth client: all well");
