import { identityOf, type Peer } from '@headset-cloud/rpc/identity.ts';
import { keyOfAuthority, restoreAuthority } from '@headset-cloud/runtime/testing/authority.ts';
import type { Secrets } from './secrets.ts';

/** The certificates that a trial's pods know each other by. */
export interface TrialCertificates {
  /** The Secrets are PREFIX-COMPONENT, and PREFIX-authority with the authority's key. */
  readonly prefix: string;
  readonly domain: string;
  readonly components: readonly Peer[];
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * Makes the Secrets that are missing, and answers their names. What exists stays, so it may be interrupted at
 * any point, run twice, or run by two at once: the authority's key is stored before anything is signed by it.
 */
export async function makeTrialCertificates(secrets: Secrets, wanted: TrialCertificates): Promise<string[]> {
  const { prefix, domain, components, labels } = wanted;
  const kept = `${prefix}-authority`;
  await secrets.create(kept, { 'tls.key': keyOfAuthority() }, labels);
  const key = (await secrets.get(kept))?.['tls.key'];
  if (!key) throw new Error(`The Secret ${kept} has no tls.key: delete it and those of the components.`);
  const made: string[] = [];
  for (const component of components) {
    const name = `${prefix}-${component}`;
    if (await secrets.get(name)) continue;
    // Each Secret has an own certificate of the authority: they differ in their dates only.
    const authority = await restoreAuthority('headset-cloud trial', key);
    const { cert, key: ownKey } = await authority.issue([identityOf(component, domain)]);
    const texts = { 'tls.crt': cert, 'tls.key': ownKey, 'ca.crt': authority.ca };
    if (await secrets.create(name, texts, labels)) made.push(name);
  }
  return made;
}
