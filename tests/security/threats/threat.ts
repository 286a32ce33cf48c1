/** One attack of somebody who means harm. */
export interface Threat {
  /** Stable: listener and a short name, e.g. `rest/token-unsigned`. Tests name it: `// protects against rest/…`. */
  readonly id: string;
  readonly attack: string;
  /** The safeguard. */
  readonly guard: string;
}

/** A listener, who stands before it, and the attacks through it. */
export interface Listener {
  readonly title: string;
  /** Who reaches the listener. */
  readonly reach: string;
  readonly threats: readonly Threat[];
}

/** The threats of one listener, each written as `name: attack | guard`. Throws where a part is missing. */
export function listener(prefix: string, title: string, reach: string, text: string): Listener {
  const threats = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => {
      const [, name, attack, guard] = /^([a-z0-9-]+): (.+?) \| (.+)$/.exec(line) ?? [];
      if (!name || !attack || !guard) throw new Error(`${prefix}: not 'name: attack | guard': '${line}'`);
      return { id: `${prefix}/${name}`, attack, guard };
    });
  return { title, reach, threats };
}
