// Each call of the second factor with better-auth's own client: node two_factor.mjs <base URL> <mail folder> <path form>
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createAuthClient } from "better-auth/client";
import { emailOTPClient, twoFactorClient } from "better-auth/client/plugins";

const [base, mailFolder, form] = process.argv.slice(2);
const address = form === "basePath" ? { baseURL: base, basePath: "/api/v1/auth" } : { baseURL: `${base}/api/v1/auth` };
const email = `factor${Date.now()}@mail.example.org`;
const password = "Quiet-Harbour-1";
const redirects = [];

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
    ...address,
    fetchOptions: { customFetchImpl },
    plugins: [
      emailOTPClient(),
      twoFactorClient({ onTwoFactorRedirect: ({ twoFactorMethods }) => void redirects.push(twoFactorMethods) }),
    ],
  });
  return { client, jar };
}

async function mailedCodes() {
  const codes = [];
  for (const file of (await readdir(mailFolder)).filter((name) => name.endsWith(".eml")).sort()) {
    const text = (await readFile(join(mailFolder, file), "utf8")).replace(/=\r?\n/g, "");
    if (text.includes(`To: ${email}`) && /^(\d{6})\r?$/m.test(text)) codes.push(text.match(/^(\d{6})\r?$/m)[1]);
  }
  return codes;
}

async function mailed(count) {
  for (let tries = 0; tries < 200; tries++) {
    const codes = await mailedCodes();
    if (codes.length >= count) return codes.at(-1);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("no mail");
}

function totp(uri, offset = 0) {
  const secret = new URL(uri).searchParams.get("secret");
  const bits = [...secret].map((c) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(c).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + offset));
  const digest = createHmac("sha1", key).update(counter).digest();
  return String((digest.readUInt32BE(digest.at(-1) & 15) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

function good({ data, error }) {
  assert.equal(error, null);
  return data;
}

async function refused(call, status, code) {
  const { error } = await call;
  assert.equal(error?.status, status);
  assert.equal(error.code, code);
}

const { client: auth } = browser();
good(await auth.signUp.email({ email, password, name: "Factor" }));
good(await auth.emailOtp.verifyEmail({ email, otp: await mailed(1) }));

await refused(auth.twoFactor.enable({ password: "Wrong-password-1" }), 400, "INVALID_PASSWORD");
await refused(auth.twoFactor.getTotpUri({ password }), 400, "TOTP_NOT_ENABLED");
const enabled = good(await auth.twoFactor.enable({ password }));
assert.equal(enabled.method, "totp");
assert.equal(enabled.backupCodes.length, 10);
assert.equal(good(await auth.twoFactor.getTotpUri({ password })).totpURI, enabled.totpURI);
const first = totp(enabled.totpURI, -1);
assert.equal(good(await auth.twoFactor.verifyTotp({ code: first })).user.twoFactorEnabled, true);
await refused(auth.twoFactor.verifyTotp({ code: first }), 401, "INVALID_CODE");
assert.equal(good(await auth.getSession()).user.twoFactorEnabled, true);
await refused(auth.twoFactor.enable({ password }), 400, "TOTP_ALREADY_ENABLED");

const two = browser();
const waiting = good(await two.client.signIn.email({ email, password }));
assert.equal(waiting.twoFactorRedirect, true);
assert.deepEqual(redirects, [["totp"]]);
assert.equal(two.jar.has("session_token"), false);
await refused(two.client.twoFactor.sendOtp(), 400, "OTP_NOT_ENABLED");
await refused(two.client.twoFactor.verifyBackupCode({ code: "aaaaa-aaaaa-aaaaa" }), 401, "INVALID_BACKUP_CODE");
good(await two.client.twoFactor.verifyTotp({ code: totp(enabled.totpURI), trustDevice: true }));
assert.equal(good(await two.client.getSession()).user.email, email);
const devices = good(await two.client.$fetch("/two-factor/trusted-devices"));
assert.equal(devices.length, 1);
good(await two.client.signOut());
assert.equal(good(await two.client.signIn.email({ email, password })).user.email, email);
good(await two.client.$fetch("/two-factor/revoke-trusted-device", { method: "POST", body: { id: devices[0].id } }));

const three = browser();
good(await three.client.signIn.email({ email, password }));
assert.equal(good(await three.client.twoFactor.verifyBackupCode({ code: enabled.backupCodes[0] })).user.email, email);
const renewed = good(await three.client.twoFactor.generateBackupCodes({ password }));
assert.equal(renewed.status, true);
assert.equal(renewed.backupCodes.length, 10);
assert.equal(good(await three.client.twoFactor.disable({ password })).status, true);
assert.equal(good(await three.client.getSession()).user.twoFactorEnabled, false);

assert.equal(good(await three.client.twoFactor.enable({ password, method: "otp" })).method, "otp");
const four = browser();
good(await four.client.signIn.email({ email, password }));
assert.deepEqual(redirects.at(-1), ["otp"]);
const before = (await mailedCodes()).length;
assert.equal(good(await four.client.twoFactor.sendOtp()).status, true);
assert.equal(good(await four.client.twoFactor.verifyOtp({ code: await mailed(before + 1) })).user.email, email);
assert.equal(good(await four.client.getSession()).user.email, email);
console.log("better-auth second factor: all well");
