// Registers and uses passkeys with better-auth's own client: node passkeys.mjs <base URL> baseURL|basePath <e-mail> <password>
import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { passkeyClient } from "@better-auth/passkey/client";
import { createAuthClient } from "better-auth/client";

const [base, form, email, password] = process.argv.slice(2);
const sha256 = (bytes) => createHash("sha256").update(bytes).digest();

// The part of a browser that @simplewebauthn/browser calls, with one authenticator.
class Authenticator {
  constructor() {
    this.id = randomBytes(32);
    this.counter = 0;
    this.mediation = undefined;
    this.keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  }

  async create({ publicKey: options }) {
    assert.equal(options.authenticatorSelection.userVerification, "required");
    if (options.excludeCredentials.some(({ id }) => Buffer.from(id).equals(this.id))) {
      throw Object.assign(new Error("known"), { name: "InvalidStateError" });
    }
    this.user = options.user.id;
    const { x, y } = this.keys.publicKey.export({ format: "jwk" });
    const point = [x, y].map((part) => Buffer.from(part, "base64url"));
    const cose = Buffer.concat([Buffer.from("a5010203262001215820", "hex"), point[0], Buffer.from("225820", "hex"), point[1]]);
    const attested = Buffer.concat([Buffer.alloc(16), Buffer.from([0, 32]), this.id, cose]);
    const data = Buffer.concat([this.data(0x45, options.rp.id), attested]);
    const head = Buffer.from("a363666d74646e6f6e656761747453746d74a068617574684461746159", "hex");
    const attestationObject = Buffer.concat([head, Buffer.from([data.length >> 8, data.length & 255]), data]);
    const response = { attestationObject, clientDataJSON: this.client("webauthn.create", options), getTransports: () => ["internal"] };
    return this.credential(response);
  }

  async get({ publicKey: options, mediation }) {
    this.mediation = mediation;
    this.counter += 1;
    const authenticatorData = this.data(0x05, options.rpId);
    const clientDataJSON = this.client("webauthn.get", options);
    const signature = sign("sha256", Buffer.concat([authenticatorData, sha256(clientDataJSON)]), this.keys.privateKey);
    return this.credential({ authenticatorData, clientDataJSON, signature, userHandle: this.user });
  }

  data(flags, rpId) {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(this.counter);
    return Buffer.concat([sha256(rpId), Buffer.from([flags]), counter]);
  }

  client(type, { challenge }) {
    return Buffer.from(JSON.stringify({ type, challenge: Buffer.from(challenge).toString("base64url"), origin: base }));
  }

  credential(response) {
    const id = this.id.toString("base64url");
    return { id, rawId: this.id, type: "public-key", response, getClientExtensionResults: () => ({}) };
  }
}

const authenticator = new Authenticator();
globalThis.PublicKeyCredential = class {
  static isConditionalMediationAvailable = async () => true;
};
globalThis.document = { querySelectorAll: () => [{}] };
Object.defineProperty(globalThis, "navigator", { value: { credentials: authenticator }, configurable: true });

function browser() {
  const jar = new Map();
  const customFetchImpl = async (url, options) => {
    const headers = new Headers(options?.headers);
    headers.set("cookie", [...jar].map(([name, value]) => `${name}=${value}`).join("; "));
    headers.set("origin", base);
    const response = await fetch(url, { ...options, headers });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = line.match(/^([^=]+)=([^;]*)/);
      if (value) jar.set(name, value);
      else jar.delete(name);
    }
    return response;
  };
  const address = form === "basePath" ? { baseURL: base, basePath: "/api/v1/auth" } : { baseURL: `${base}/api/v1/auth` };
  return createAuthClient({ ...address, fetchOptions: { customFetchImpl }, plugins: [passkeyClient()] });
}

function good({ data, error }) {
  assert.equal(error, null);
  return data;
}

const first = browser();
good(await first.signIn.email({ email, password }));
const added = good(await first.passkey.addPasskey({ name: "Laptop", authenticatorAttachment: "platform" }));
assert.equal(added.name, "Laptop");
assert.equal(added.deviceType, "singleDevice");
assert.equal((await first.passkey.addPasskey({})).error.code, "ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED");
const [listed] = good(await first.passkey.listUserPasskeys());
assert.equal(listed.credentialID, authenticator.id.toString("base64url"));
assert.equal(good(await first.passkey.updatePasskey({ id: listed.id, name: "Desk" })).passkey.name, "Desk");

for (const autoFill of [false, true]) {
  globalThis.window = globalThis;
  const second = browser();
  const signedIn = good(await second.signIn.passkey({ autoFill }));
  assert.equal(authenticator.mediation, autoFill ? "conditional" : undefined);
  assert.equal(signedIn.user.email, email);
  assert.equal(signedIn.session.userId, signedIn.user.id);
  assert.equal(good(await second.getSession()).session.id, signedIn.session.id);
}

authenticator.counter = 0;
assert.deepEqual((({ status, code }) => [status, code])((await browser().signIn.passkey()).error), [401, "AUTHENTICATION_FAILED"]);
assert.equal(good(await first.passkey.deletePasskey({ id: listed.id })).status, true);
assert.deepEqual(good(await first.passkey.listUserPasskeys()), []);
authenticator.counter = 9;
assert.deepEqual((({ status, code }) => [status, code])((await browser().signIn.passkey()).error), [401, "PASSKEY_NOT_FOUND"]);
console.log("passkeys: all well");
