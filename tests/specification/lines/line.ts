/** One promise of the specification. */
export interface Line {
  /** Stable: document, section and a short name, e.g. `api/5/extras-limit`. */
  readonly id: string;
  readonly section: string;
  readonly text: string;
}

/** Lines of one section, each written as `name: text`. */
export function lines(prefix: string, section: string, text: string): Line[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => {
      const colon = line.indexOf(': ');
      if (colon < 1) throw new Error(`${prefix}: no name in '${line}'`);
      return { id: `${prefix}/${line.slice(0, colon)}`, section, text: line.slice(colon + 2) };
    });
}
