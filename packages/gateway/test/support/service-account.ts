import { generateKeyPairSync, type KeyObject } from "node:crypto";

/** A service account's key file, made up, and the key that tells whether it signed. */
export interface TestAccount {
  json: string;
  pem: string;
  email: string;
  publicKey: KeyObject;
}

/** Makes one whose tokens come from `tokenUri`. */
export function testServiceAccount(tokenUri: string, project = "from-credentials"): TestAccount {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const email = "robot@from-credentials.iam.gserviceaccount.com";
  const json = JSON.stringify({
    ...{ type: "service_account", project_id: project, private_key_id: "kid-1", private_key: pem },
    ...{ client_email: email, client_id: "1", token_uri: tokenUri, universe_domain: "googleapis.com" },
  });
  return { json, pem, email, publicKey };
}
