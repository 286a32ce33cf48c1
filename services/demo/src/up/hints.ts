import { join, resolve } from 'node:path';
import { allScopes } from '../api.ts';
import { root } from '../stack/process.ts';
import type { Stack } from '../stack/stack.ts';
import type { Demo } from './demo.ts';
import { shown } from './folder.ts';

/** Commands to try next. Every line can be pasted into a shell. */
export function hints(demo: Demo, { dataDir, backing, filesUrl, adminUrls, headsetCaFile }: Stack): string {
  const base = `${demo.apiUrl}/v1/applications/${demo.applicationId}`;
  const log = (name: string) => shown(join(dataDir, 'logs', `${name}.log`));
  const clean = dataDir === resolve(root, '.data') ? 'make clean' : `rm -r ${shown(dataDir)}`;
  return `
Addresses
  API        ${demo.apiUrl}      tokens  ${demo.tokenUrl}
  headsets   ${demo.deviceLinkUrl}${headsetCaFile ? ` (TLS, authority ${shown(headsetCaFile)})` : ''}           files   ${backing?.s3Environment?.S3_ENDPOINT ?? filesUrl}
  admin      ${Object.values(adminUrls).join(' ')}
  all        ${shown(join(dataDir, 'demo.json'))}

Try next
  TOKEN=$(curl -s -u ${demo.clientId}:${demo.clientSecret} -d 'grant_type=client_credentials&scope=${allScopes.replaceAll(' ', '+')}' ${demo.tokenUrl} | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')
  curl -s -X PUT ${base}/devices/${demo.deviceId}/commands -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"package":"com.example.app","launchType":"activity","extras":{"n":12345678901234567890}}'
  curl -s "${base}/transactions?deviceId=${demo.deviceId}&order=desc&perPage=5&page=1" -H "Authorization: Bearer $TOKEN"
  tail -f ${log('integrator')} ${log('headset')}

The integrators' command (services/hc/README.md)
  HC='node_modules/.bin/node services/hc/src/main.ts --profile demo'
  $HC login --from ${shown(join(dataDir, 'demo.json'))}
  $HC trigger notify-boot --verify
  $HC events --since 1h
  $HC listen --forward-to http://localhost:3000/callbacks

Ctrl-C stops everything; the state stays in ${shown(dataDir)} (${clean} removes it).`;
}
