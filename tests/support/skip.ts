import { orDemanded } from '@headset-cloud/demo/stack/demand.ts';
import { missingTools } from './tools.ts';

/** `describe`, or its skipped form with the reason in its title. With REQUIRE_REAL_STACK (CI) it throws instead. */
export function describeUnless(missing: string | undefined, title: string, body: () => void): void {
  if (orDemanded(missing)) describe.skip(`${title} (${missing})`, body);
  else describe(title, body);
}

/** `describe`, skipped if one of these programs is missing. */
export function describeWith(programs: readonly string[], title: string, body: () => void): void {
  describeUnless(missingTools(...programs), title, body);
}

/** `it`, or its skipped form with the reason in its title. With REQUIRE_REAL_STACK (CI) it throws instead. */
export function itUnless(missing: string | undefined): It {
  if (!orDemanded(missing)) return it;
  const skipped: It = (title, body, timeout) => it.skip(`${title} (${missing})`, body, timeout);
  skipped.each = ((cases: readonly unknown[]) =>
    (title: string, body: () => Promise<void>, timeout?: number) =>
      it.skip.each(cases)(`${title} (${missing})`, body, timeout)) as jest.Each;
  return skipped;
}

interface It {
  (title: string, body: jest.ProvidesCallback, timeout?: number): void;
  each: jest.Each;
}
