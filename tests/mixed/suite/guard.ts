type Add = (title: string, ...rest: unknown[]) => unknown;
type Each = (...table: unknown[]) => Add;

/** An `it` that skips a test if its title is not in the earlier version of its file. */
export function guarded<It extends Pick<jest.It, 'skip' | 'each'>>(it: It, text: string): It {
  const plain = (source: string) => source.replaceAll('\\', '');
  const knows = (title: string) => plain(text).includes(plain(title));
  const of = (title: string) => (knows(title) ? it : it.skip) as unknown as Add & { each: Each };
  const add: Add = (title, ...rest) => of(title)(title, ...rest);
  const each: Each =
    (...table) =>
    (title, ...rest) =>
      of(title).each(...table)(title, ...rest);
  return Object.assign(add, it, { each }) as unknown as It;
}
