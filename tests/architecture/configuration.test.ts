import { readFileSync } from 'node:fs';
import { configurationDocument, configurationFile } from './configuration.ts';

it('docs/configuration.md says what the processes read (else: make generate)', () => {
  expect(readFileSync(configurationFile, 'utf8')).toBe(configurationDocument());
});
