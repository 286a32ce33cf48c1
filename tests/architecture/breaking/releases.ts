import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { DocumentName } from '@headset-cloud/gateway/openapi/document.ts';
import type { DocumentKind } from './documents.ts';
import { keepSteps } from './steps.ts';

const root = resolve(import.meta.dirname, '../../..');

/**
 * Version of the last release. Each release writes this file, so the newest commit that changed it
 * is the release (`make mixed`).
 */
export const releaseName = 'proto/released/version';

/** The contracts of the last release; absent before the first. */
export const released = {
  documents: join(root, 'gateway/openapi/released'),
  protocols: join(root, 'proto/released/protocols.binpb'),
};

export const hasRelease = existsSync(released.documents) && existsSync(released.protocols);

export const documentKinds: Readonly<Record<DocumentName, DocumentKind>> = {
  cws_api: 'api',
  cws_notification: 'callbacks',
  cws_presigned_url: 'integrator',
  cws_extension: 'api',
};

/** Breaking changes that buf finds in protocols, compared with an image of earlier ones; empty if there are none. */
export function breakingProtocols(folder: string, image: string): string {
  try {
    execFileSync('buf', ['breaking', '--against', image], { cwd: folder, encoding: 'utf8', stdio: 'pipe' });
    return '';
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    return `${stdout ?? ''}${stderr ?? ''}` || String(error);
  }
}

/** Stores the current contracts as the contracts of the new release (`make contract-release`). */
export function keepRelease(): void {
  for (const name of Object.keys(documentKinds)) {
    cpSync(join(root, `gateway/openapi/${name}.yaml`), join(released.documents, `${name}.yaml`));
  }
  mkdirSync(join(root, 'proto/released'), { recursive: true });
  execFileSync('buf', ['build', '-o', released.protocols], { cwd: join(root, 'proto'), stdio: 'inherit' });
  keepSteps();
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  writeFileSync(join(root, releaseName), `${version}\n`);
}

if (process.argv[1] === import.meta.filename) keepRelease();
