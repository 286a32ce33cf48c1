import { join } from 'node:path';
import { writeSecretFile } from '@headset-cloud/cli/secret-file.ts';
import { identityOf, type Peer } from '@headset-cloud/rpc/identity.ts';
import { createAuthority } from '@headset-cloud/runtime/testing/authority.ts';

const domain = 'headset-cloud.internal';

/**
 * Creates a certificate authority and certificates in `folder`, at each start of the stack. A process gets one
 * certificate for all its components. Returns a function that gives the environment of a process.
 */
export async function makeCertificates(
  folder: string,
  wanted: readonly (readonly Peer[])[],
): Promise<(...components: Peer[]) => Record<string, string>> {
  const fileOf = (components: readonly Peer[]) => components.join('+');
  const write = writer(folder);
  const authority = await createAuthority('headset-cloud, this machine only');
  write('ca.crt', authority.ca);
  for (const components of wanted) {
    const { cert, key } = await authority.issue(components.map((one) => identityOf(one, domain)));
    write(`${fileOf(components)}.crt`, cert);
    write(`${fileOf(components)}.key`, key);
  }
  return (...components) => ({
    RPC_TLS_MODE: 'required',
    RPC_TLS_CERT_FILE: join(folder, `${fileOf(components)}.crt`),
    RPC_TLS_KEY_FILE: join(folder, `${fileOf(components)}.key`),
    RPC_TLS_CA_FILE: join(folder, 'ca.crt'),
    RPC_TLS_DOMAIN: domain,
  });
}

/** TLS for headsets: settings of device-link, and the file of the authority that headsets trust. */
export interface HeadsetListener {
  readonly env: Readonly<Record<string, string>>;
  readonly caFile: string;
}

/** Creates an authority and device-link's certificate for localhost. */
export async function makeHeadsetListener(folder: string): Promise<HeadsetListener> {
  const write = writer(folder);
  const authority = await createAuthority('headset-cloud headsets, this machine only');
  const { cert, key } = await authority.issue(['localhost']);
  write('ca.crt', authority.ca);
  write('tls.crt', cert);
  write('tls.key', key);
  return {
    env: {
      DEVICE_LINK_TLS_CERT_FILE: join(folder, 'tls.crt'),
      DEVICE_LINK_TLS_KEY_FILE: join(folder, 'tls.key'),
    },
    caFile: join(folder, 'ca.crt'),
  };
}

function writer(folder: string): (name: string, content: string) => void {
  return (name, content) => writeSecretFile(join(folder, name), content);
}
