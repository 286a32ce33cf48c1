import { readFileSync } from 'node:fs';
import { configurationDocument, configurationFile, defaultPorts } from './configuration.ts';

it('docs/configuration.md says what the processes read (else: make generate)', () => {
  expect(readFileSync(configurationFile, 'utf8')).toBe(configurationDocument());
});

it('no two listeners have the same port by default: one process may have all of them', () => {
  const ports = defaultPorts();
  expect(ports.size).toBeGreaterThan(5);
  expect([...ports].filter(([, keys]) => keys.length > 1)).toEqual([]);
});
