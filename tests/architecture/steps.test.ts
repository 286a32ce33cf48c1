import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { allSteps } from '@headset-cloud/prepare/all-steps.ts';
import { deadLettersCollection } from '@headset-cloud/rules/dead-letters/documents.ts';
import { serviceNames } from '@headset-cloud/runtime/service-names.ts';
import { stepProblems } from './breaking/additive.ts';
import { stepsOfRelease, stepsOfToday } from './breaking/steps.ts';
import { root, sources } from './imports.ts';

const filesOf = (service: string) =>
  sources(`services/${service}/src`)
    .filter((file) => !file.endsWith('.test.ts') && !file.includes('/testing/'))
    .map((file) => readFileSync(join(root, file), 'utf8'));

describe('the steps of the databases (ADR 0034)', () => {
  it('released steps do not change, and new steps only add', () => {
    expect(stepProblems(stepsOfRelease(), stepsOfToday())).toEqual([]);
  });

  it('the release has steps of every service with a database', () => {
    expect(Object.keys(stepsOfRelease())).toEqual(expect.arrayContaining(Object.keys(allSteps)));
  });

  it('every service with a database starts with its steps, and no other service has steps', () => {
    const withSteps = serviceNames.filter((name) =>
      filesOf(name).some((text) => /await prepared\(ctx, \w+Steps\)/.test(text)),
    );
    const storing = serviceNames.filter((name) =>
      filesOf(name).some((text) => /store\.collection</.test(text)),
    );
    expect(withSteps).toEqual(storing);
    expect([...withSteps].sort()).toEqual(Object.keys(allSteps).sort());
  });

  it('a service that subscribes has the indexes of its dead letters in its steps', () => {
    const subscribing = serviceNames.filter((name) =>
      filesOf(name).some((text) => /log\.subscribe\(/.test(text)),
    );
    const withLetters = Object.values(allSteps)
      .filter(({ steps }) => steps.some(({ indexes }) => deadLettersCollection in indexes))
      .map(({ service }) => service);
    expect(withLetters.sort()).toEqual([...subscribing].sort());
  });

  it('only the steps create indexes', () => {
    const elsewhere = ['services', 'gateway']
      .flatMap(sources)
      .filter((file) => !/\.test\.ts$|\/testing\/|^services\/(embedded|kit)\//.test(file))
      .filter((file) => /createIndex/.test(readFileSync(join(root, file), 'utf8')));
    expect(elsewhere).toEqual([]);
  });
});
